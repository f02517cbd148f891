package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/client"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
	"troupe/spill/view"
)

// logFlags are the flags of logs as they were typed.
type logFlags struct {
	follow, raw                 bool
	news                        bool // nothing of what is there
	lines, offset, limit, first int64
	stream, sinceText           string
	since                       time.Time
}

func (f *logFlags) check(given func(string) bool, asJSON bool) error {
	f.news = f.follow && given("lines") && f.lines == 0
	for _, of := range []struct {
		name  string
		lines int64
	}{{"lines", f.lines}, {"offset", f.offset}, {"limit", f.limit}, {"head", f.first}} {
		if given(of.name) && of.lines < 1 && !(f.news && of.name == "lines") {
			return messages.Invalid(of.name, fmt.Sprintf("--%s %d shows nothing; give a number of lines, from 1", of.name, of.lines))
		}
	}
	views := 0
	for _, is := range []bool{given("lines"), given("head"), given("offset") || given("limit"), given("since")} {
		if is {
			views++
		}
	}
	switch {
	case given("stream") && f.stream != "merged" && f.stream != "stdout" && f.stream != "stderr":
		return messages.Invalid("stream", "--stream "+out.Quoted(f.stream)+" is none; use merged, stdout or stderr")
	case views > 1:
		return messages.Invalid("view", "-n, --head, --since, and --offset with --limit are different views; give one of them")
	case f.follow && (given("head") || given("limit")):
		return messages.Invalid("follow", "-f goes on to the end, which --head and --limit leave out; give one of them")
	case f.follow && asJSON:
		return messages.Invalid("follow", "--json prints one object, which has no end with -f; give one of them")
	case given("since") && asJSON:
		return messages.Invalid("since", "--json prints a page of lines, and --since names none; give one of them")
	case given("since"):
		return f.moment(time.Now())
	}
	return nil
}

// moment takes --since as docker has it: how long ago, or when; without a zone that is the
// time here, as other verbs show it.
func (f *logFlags) moment(now time.Time) error {
	if flags.Seconds.MatchString(f.sinceText) && f.sinceText[0] != '-' { // docker takes it for a moment
		e := messages.Invalid("since", "--since "+out.Quoted(f.sinceText)+" may be seconds, or a moment")
		e.Hint = fmt.Sprintf("write %ss for so many seconds ago; or when, like 2026-01-02T15:04:05Z", f.sinceText)
		return e
	}
	if d, err := time.ParseDuration(f.sinceText); err == nil && d >= 0 && d <= messages.MaxDuration {
		f.since = now.Add(-d)
		return nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		at, err := time.ParseInLocation(form, f.sinceText, time.Local)
		if err == nil {
			f.since = at
			return nil
		}
	}
	e := messages.Invalid("since", "--since "+out.Quoted(f.sinceText)+" is no time")
	e.Hint = "write how long ago, like 90s or 10m, or when, like 2026-01-02T15:04:05Z or '2026-01-02 15:04:05'"
	return e
}

func printLogs(a *daemonCommand, f *logFlags) error {
	job, err := a.Job(a.ctx, messages.JobID(a.args[0]))
	if err != nil {
		return err
	}
	streams, err := f.streams(job)
	if err != nil {
		return err
	}
	if a.json && len(streams) > 1 {
		e := messages.Invalid("stream", fmt.Sprintf("--json prints a page of one stream, and job %s has %s", job.ID, streamNames(streams)))
		e.Hint = "name one: --stream stdout or --stream stderr"
		return e
	}
	if a.json {
		page, err := a.Text(a.ctx, uid(job), f.look(streams[0]))
		if err != nil {
			return err
		}
		return a.object(page)
	}
	s := terminal.NewPrinter(a.main)
	var reels []*logPrinter
	for _, stream := range streams {
		r := &logPrinter{daemonCommand: a, job: uid(job), stream: stream, flags: f, to: &s.Out}
		if stream == messages.Stderr && len(streams) > 1 {
			r.to = &s.Err
		}
		if r.to.Terminal && !f.raw {
			r.cleaner = &view.Cleaner{Colours: true}
		}
		reels = append(reels, r)
	}
	if len(reels) == 2 && f.first == 0 && f.limit == 0 {
		err = showBoth(reels[0], reels[1])
	} else {
		for _, r := range reels {
			err = errors.Join(err, r.print())
		}
	}
	if f.follow && (err == nil || errors.Is(err, daemonLeft)) {
		return followedEnd(a, uid(job), err)
	}
	return err
}

// lostPatience is how long the end of a job may come behind that of its output. One that
// takes longer lives, and has closed its output itself.
const lostPatience = time.Second

// followedEnd is how following a job ends, whose output has ended or broken off: of one
// that is lost nobody knows what else it has printed, and it ends so.
func followedEnd(a *daemonCommand, id messages.JobID, err error) error {
	end, problem := a.Await(a.ctx, messages.WaitJobs{Jobs: []messages.JobID{id}, Timeout: lostPatience})
	if problem != nil || len(end.Jobs) != 1 || end.Jobs[0].Outcome != messages.Lost {
		return err
	}
	return exitAs(a, end.Jobs[0])
}

// showBoth shows two streams in the order in which they came.
func showBoth(stdout, stderr *logPrinter) error {
	what := client.RangeBoth{Since: stdout.flags.since, Follow: stdout.flags.follow}
	var problem error
	if what.Stdout, problem = stdout.startOffset(); problem != nil {
		return problem
	}
	if what.Stderr, problem = stderr.startOffset(); problem != nil {
		return problem
	}
	of := map[messages.Stream]*logPrinter{stdout.stream: stdout, stderr.stream: stderr}
	gaps, problem := stdout.OutputBoth(stdout.ctx, stdout.job, what, func(stream messages.Stream, b []byte) error {
		r := of[stream]
		if r == nil {
			return fmt.Errorf("the daemon sent a stream %d, which is none", stream)
		}
		if werr := r.write(b, false); werr != nil {
			return &out.OutputError{Err: werr}
		}
		return nil
	})
	for _, r := range of {
		if werr := r.write(nil, true); werr != nil && problem == nil {
			problem = &out.OutputError{Err: werr}
		}
	}
	if problem != nil {
		return leftEarly(problem)
	}
	stdout.printGap(gaps)
	return nil
}

// leftEarly is the error of an output that broke off, if it is none of its own.
func leftEarly(err error) error {
	var coded *messages.Error
	var ours *out.OutputError
	if errors.As(err, &coded) || errors.As(err, &ours) {
		return err
	}
	left := brokenOff(err)
	left.Message += ", in the middle of the output"
	return left
}

// streams are those that are shown.
func (f *logFlags) streams(job messages.Job) ([]messages.Stream, error) {
	var all []messages.Stream
	for _, out := range job.Output {
		if out.Stream.String() == f.stream {
			return []messages.Stream{out.Stream}, nil
		}
		all = append(all, out.Stream)
	}
	if f.stream != "" || len(all) == 0 {
		return nil, messages.Invalid("stream", fmt.Sprintf("job %s has no stream %q; it has %s", job.ID, f.stream, streamNames(all)))
	}
	return all, nil
}

func streamNames(streams []messages.Stream) string {
	var names []string
	for _, s := range streams {
		names = append(names, s.String())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " and ")
}

// look is the view that the flags ask for.
func (f *logFlags) look(stream messages.Stream) client.TextView {
	l := client.TextView{Stream: stream, Line: f.offset, Limit: f.limit, Head: f.first, Tail: f.lines, Bytes: messages.MaxViewBytes, Raw: f.raw}
	if l.Line > 0 && l.Limit == 0 {
		l.Limit = 1 // to find its first byte
	}
	return l
}
