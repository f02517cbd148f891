package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/messages"
)

// evidence is what a job has noted itself: the id that it had at each start, and the status
// with which it was about to end.
type evidence struct {
	starts []string
	ends   []int
}

// local reports whether it ran in the process of its client.
func (e evidence) local() bool { return len(e.starts) == 1 && strings.HasPrefix(e.starts[0], "local-") }

// readEvidence reads the file of a round.
func (c *chaos) readEvidence(path string) map[string]evidence {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	all := map[string]evidence{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			c.t.Fatalf("evidence %q", line)
		}
		e := all[f[1]]
		if f[0] == "start" {
			e.starts = append(e.starts, f[2])
		} else {
			status, _ := strconv.Atoi(f[2])
			e.ends = append(e.ends, status)
		}
		all[f[1]] = e
	}
	return all
}

// judge waits for the end of all clients and jobs of a round, and compares what they were
// told with the evidence.
func (c *chaos) judge(r *chaosRound) {
	c.t.Helper()
	r.clients.Wait()
	if c.daemonPID() == 0 {
		c.serve()
	}
	records := c.ended(r)
	if c.t.Failed() {
		return // a client of a daemon that hangs waits long for each answer
	}
	proof := c.readEvidence(r.evidence)
	for _, j := range r.jobs {
		record, known := records[j.key]
		e := proof[j.key]
		c.judgeRuns(r, j, e, record, known)
		if j.refusal != "" && known && record.End.Outcome != messages.FailedToStart && record.End.Outcome != messages.Lost {
			c.wrong("refused", "%s (%s) is %s, and its client was told: %s", j.key, j.kind, record.End.Outcome, j.refusal)
		}
		if known && record.State == messages.Finished {
			c.judgeRecord(r, j, e, record)
			c.judgeOutput(r, j, record)
		}
		for _, told := range j.told {
			c.judgeClient(r, j, e, told, record, known)
		}
	}
	c.judgeNotices(r, records)
	for _, log := range []string{c.daemon.err.String(), c.text("daemon.log"), c.text("keeper/keeper.err")} {
		if at := strings.Index(log, "panic: "); at >= 0 {
			c.wrong("panic", "%s", log[at:min(len(log), at+3000)])
		}
	}
}

func (c *chaos) text(name string) string {
	text, _ := os.ReadFile(c.state + "/" + name)
	return string(text)
}

// ended waits until no job of a round runs and no notice is pending, and returns the records
// by their names.
func (c *chaos) ended(r *chaosRound) map[string]messages.Record {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), tooLong)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var before []string // what was open in the last list that came
	for {
		list, err := host.Ask(ctx, c.client.Host(), messages.ListJobs{Finished: true})
		records, open := map[string]messages.Record{}, []string{}
		for _, job := range list.Jobs {
			if !slices.ContainsFunc(r.jobs, func(j *chaosJob) bool { return j.key == job.Name }) {
				continue
			}
			if other, twice := records[job.Name]; twice {
				c.wrong("twice", "records of %s: %s and %s", job.Name, other.UID, job.UID)
			}
			records[job.Name] = job
			pending := slices.ContainsFunc(job.OnFinish, func(n messages.Notice) bool { return n.State == messages.NoticePending })
			if job.State != messages.Finished || pending {
				open = append(open, fmt.Sprintf("%s is %s, notices %+v", job.Name, job.State, job.OnFinish))
			}
		}
		if err == nil && len(open) == 0 {
			return records
		}
		if err == nil {
			before = open
		}
		select {
		case <-ctx.Done():
			c.wrong("hung", "jobs: %v; before: %s", err, strings.Join(before, "; "))
			return nil
		case <-tick.C:
		}
	}
}

// since reports whether something happened after a job was requested.
func (j *chaosJob) since(times ...[]time.Time) bool {
	return slices.ContainsFunc(slices.Concat(times...), func(at time.Time) bool { return at.After(j.requested) })
}

// judgeRuns checks how often a job ran, and that it has a record.
func (c *chaos) judgeRuns(r *chaosRound, j *chaosJob, e evidence, record messages.Record, known bool) {
	c.t.Helper()
	if len(e.starts) > 1 || len(e.ends) > 1 {
		c.wrong("twice", "%s (%s) ran as %v, ended as %v", j.key, j.kind, e.starts, e.ends)
	}
	switch {
	case known && e.local():
		c.wrong("twice", "%s ran without a daemon, and has the record %s", j.key, record.UID)
	case known:
	case e.local():
		c.all.add("ran without a daemon", 1)
	case len(e.starts) > 0:
		c.wrong("record", "%s (%s) ran as %v and has no record; its client: %q %+v", j.key, j.kind, e.starts, j.refusal, j.told)
	case j.accepted:
		c.wrong("record", "%s (%s) was accepted and has no record", j.key, j.kind)
	default:
		c.all.add("refused or killed before the request", 1)
		c.note("%s (%s) was refused: %s %+v", j.key, j.kind, j.refusal, j.told)
		if j.refusal != "" && !j.since(r.daemonDied, r.keeperDied, r.filled) {
			c.wrong("refused", "%s (%s): %s", j.key, j.kind, j.refusal)
		}
	}
}

// judgeRecord compares a record with the evidence.
func (c *chaos) judgeRecord(r *chaosRound, j *chaosJob, e evidence, record messages.Record) {
	c.t.Helper()
	started, over := len(e.starts) > 0, len(e.ends) > 0
	keeper := j.since(r.keeperDied) || j.kind == cliDetached && j.since(r.aloneDied)
	is, why := false, record.End.Outcome
	switch record.End.Outcome {
	case messages.Exited:
		is = over && j.end == byExit && record.End.Shell() == j.status
	case messages.Signaled:
		is = over && j.end == byKill && record.End.Shell() == j.status
	case messages.TimedOut:
		is = j.end == byTimeout && !over
	case messages.Cancelled:
		is = j.end == byStop && !over || j.killed
	case messages.Lost:
		is = keeper
		if !keeper && !started && j.since(r.daemonDied) {
			is, why = true, "lost, a start that the ordered end of a daemon cut off"
			if j.since(r.daemonKilled) {
				why = "lost, a start that the kill of a daemon cut off"
			}
		}
	case messages.FailedToStart:
		is = !started && j.since(r.keeperDied, r.filled)
		c.note("%s failed to start: %+v", j.key, record.End.Err)
	}
	c.all.add("outcome: "+string(why), 1)
	if !is {
		c.wrong("record", "%s (%s, to end by %d with %d): %+v is %s with %d, %+v, %+v, %v", j.key, j.kind, j.end, j.status, e, record.End.Outcome, record.End.Shell(), record.End.Cause, record.End.Err, record.Flags)
	}
	for _, flag := range record.Flags {
		switch flag {
		case messages.FlagUnsupervised, messages.FlagKeeperFault, messages.FlagTreeUnverified, messages.FlagLogTampered, messages.FlagSignalRefused:
			c.wrong("flag", "%s: %v", j.key, record.Flags)
		case messages.FlagOutputLost:
			if !keeper {
				c.wrong("output", "%s is %v without a dead keeper", j.key, record.Flags)
			}
		}
	}
}

// judgeOutput compares the stored output with what the job printed.
func (c *chaos) judgeOutput(r *chaosRound, j *chaosJob, record messages.Record) {
	c.t.Helper()
	if record.End.Outcome == messages.FailedToStart {
		return
	}
	streams := []messages.Stream{}
	for _, o := range record.Output {
		streams = append(streams, o.Stream)
	}
	want := j.output()
	for _, stream := range streams {
		got, gaps, err := c.stored(record, stream)
		if stream == messages.Stderr {
			want = ""
		}
		whole := record.End.Outcome == messages.Exited || record.End.Outcome == messages.Signaled
		if j.kind == cliTerminal || j.session == "screen" {
			got = strings.ReplaceAll(got, "\r\n", "\n")
			if !whole { // the terminal and its shell show an interrupt
				got = strings.TrimRight(got, "^C\n")
			}
		}
		told := err != nil || len(gaps) > 0
		switch {
		case !told && (got == want || !whole && strings.HasPrefix(want, got)):
		case told && c.full != "" && isPart(want, got): // removed to make room
			c.all.add("outputs that are told to be removed", 1)
		case told && j.since(r.keeperDied) && isPart(want, got): // its memory has gone
			c.all.add("outputs that are told to be gone with the keeper", 1)
		case told && record.End.Outcome == messages.Lost && isPart(want, got), record.HasFlag(messages.FlagOutputLost) && isPart(want, got):
			c.all.add("outputs that are told to be lost", 1)
		default:
			c.wrong("output", "%s (%s, %s, %v) of %d bytes: %d bytes, %v, %v: %.200q", j.key, j.kind, record.End.Outcome, record.Flags, len(want), len(got), gaps, err, got)
		}
	}
}

// isPart reports whether each whole line of a text is a line of another, in order.
func isPart(of, text string) bool {
	lines := strings.SplitAfter(of, "\n")
	for line := range strings.Lines(text) {
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, strings.TrimSuffix(line, "\n")) })
		if at < 0 {
			return false
		}
		lines = lines[at:]
	}
	return true
}

// stored reads a stream of a job.
func (c *chaos) stored(record messages.Record, stream messages.Stream) (string, []messages.OutputGap, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), tooLong)
	defer cancel()
	out, err := c.client.Output(ctx, messages.JobID(record.UID), client.Range{Stream: stream})
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		return string(text), nil, err
	}
	gaps, err := out.Gaps()
	return string(text), gaps, err
}

// ownLines are lines of the client on the terminal of a job.
var ownLines = regexp.MustCompile(`\r\x1b\[K(troupe: running[^\r\n]*)?|(?m)^troupe: .*\n`)

// judgeClient compares what a client was told with the record.
func (c *chaos) judgeClient(r *chaosRound, j *chaosJob, e evidence, told toldEnd, record messages.Record, known bool) {
	c.t.Helper()
	want, whole := record.ExitCode(), record.End.Outcome == messages.Exited || record.End.Outcome == messages.Signaled
	if !known && e.local() && len(e.ends) == 1 {
		want, whole = e.ends[0], true
	}
	if told.who == "logs" {
		want = map[bool]int{true: cli.StatusOwn}[record.End.Outcome == messages.Lost]
	}
	said := told.stderr + told.output // one of them on a terminal
	gone := (c.full != "" || j.since(r.keeperDied)) && (told.status == cli.StatusOwn || told.status == 1) &&
		(strings.Contains(said, "no longer kept") || strings.Contains(said, "output was lost"))
	switch {
	case told.hung:
		c.wrong("hung", "%s of %s", told.who, j.key)
	case told.killed:
		return
	case !known && !e.local() && told.status == cli.StatusOwn && j.since(r.daemonDied, r.keeperDied, r.filled): // refused
		return
	case gone:
		c.all.add("clients that were told that the output is gone", 1)
		return
	case told.status != want:
		c.wrong("client", "%s of %s (%s with %d, known %v, %+v): status %d, and said %q", told.who, j.key, record.End.Outcome, record.End.Shell(), known, e, told.status, said[max(0, len(said)-500):])
	}
	c.all.add("clients that waited: "+told.who, 1)
	if !told.shown {
		return
	}
	got, all := told.output, j.output()
	if told.terminal || j.kind == cliTerminal || j.session == "screen" {
		got = ownLines.ReplaceAllString(strings.ReplaceAll(got, "\r\n", "\n"), "")
	}
	removed := (c.full != "" || j.since(r.keeperDied)) && strings.Contains(said, "left out") && isPart(all, got)
	if got != all && !removed && (whole || !strings.HasPrefix(all, got)) {
		c.wrong("client", "%s of %s (%s, %v) printed %d bytes, want %d; %q", told.who, j.key, record.End.Outcome, record.Flags, len(got), len(all), told.stderr)
	}
}

// judgeNotices checks that each notice came once, with the true end, or was given up.
func (c *chaos) judgeNotices(r *chaosRound, records map[string]messages.Record) {
	c.t.Helper()
	text, err := os.ReadFile(r.notices)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	came := map[string][]messages.Outcome{}
	for line := range bytes.Lines(text) {
		var n struct {
			Name    string
			Outcome messages.Outcome
			Code    *int `json:"exit_code"`
		}
		if err := json.Unmarshal(line, &n); err != nil {
			c.wrong("notice", "%q: %v", line, err)
			continue
		}
		came[n.Name] = append(came[n.Name], n.Outcome)
		if record := records[n.Name]; record.End.Outcome != n.Outcome || n.Code != nil && *n.Code != record.End.Shell() {
			c.wrong("notice", "%s, and the record is %s with %d", line, record.End.Outcome, record.End.Shell())
		}
	}
	for name, record := range records {
		for _, n := range record.OnFinish {
			c.all.add("notices: "+string(n.State), 1)
			given := n.State == messages.NoticeGivenUp && len(r.daemonDied)+len(r.keeperDied)+len(r.filled) > 0
			if times := len(came[name]); times != 1 && !(given && times == 0) {
				c.wrong("notice", "of %s came %d times, and is %+v", name, times, n)
			}
		}
	}
}
