//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// ourHistory is a daemon with many ended jobs, used by whole processes as a user does. Each round
// begins with the same journal.
type ourHistory struct {
	troupe  *program
	n       int
	share   float64 // that a figure is divided by
	journal string  // the file that each round begins with
	serve   *exec.Cmd
}

func newOurHistory(ctx context.Context, e assignment) (runner, error) {
	h := &ourHistory{n: e.Size.Ended, share: 1, journal: filepath.Join(e.Dir, "seed", "journal.db")}
	if e.Scenario == "history-tenfold" && e.Side != raw {
		h.n, h.share = 10*h.n, 10
	}
	var err error
	if h.troupe, err = buildProgram(ctx, filepath.Join(e.Dir, "history")); err != nil {
		return nil, err
	}
	config := filepath.Join(h.troupe.dir, "config", "troupe", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "[limits]\nfinished = %d\n", h.n), 0o600); err != nil {
		return nil, err
	}
	return h, h.seed()
}

// seed writes the journal.
func (h *ourHistory) seed() (err error) {
	j, err := journal.OpenBolt(h.journal, journal.BoltOptions{NoSync: true, Retention: journal.Retention{Jobs: h.n}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	const together = 500
	seq := messages.Seq(1)
	for n := 0; n < h.n; {
		var facts []messages.FactRecorded
		for range min(together, h.n-n) {
			n++
			for _, f := range endedJob(n) {
				facts = append(facts, messages.FactRecorded{Seq: seq, Fact: f})
				seq++
			}
		}
		if err := j.Append(facts); err != nil {
			return err
		}
	}
	return nil
}

// endedJob returns the facts of a usual job that is over.
func endedJob(n int) []messages.Fact {
	at := time.Now()
	job := messages.Record{
		ID: messages.JobID(fmt.Sprintf("j%d", n)), UID: messages.UID(fmt.Sprintf("01JD%022d", n)), Scope: messages.MainScope, Session: messages.DefaultSession,
		Command: "go test ./... -run TestHouse", Mode: messages.ModeSync, Backend: messages.BackendPipe, State: messages.Running, Dir: "/src/project",
		PID: 4242, StartTime: 123456, Isolation: messages.InCgroup, Created: at, Started: at, Output: []messages.StreamOutput{{Lines: new(int64)}},
	}
	over := job
	over.State, over.End = messages.Finished, messages.End{Outcome: messages.Exited, At: at, Code: new(0), Rusage: messages.Rusage{User: time.Millisecond, MaxRSS: 9000}}
	retired := over
	retired.State = messages.Retired
	return []messages.Fact{messages.CommandStarted{Job: job}, messages.CommandFinished{Job: over}, messages.CommandRetired{Job: retired}}
}

func (h *ourHistory) state() string {
	return filepath.Join(h.troupe.dir, "state", "troupe", "journal.db")
}

// start starts the daemon, and waits until it takes requests.
func (h *ourHistory) start() error {
	h.serve = h.troupe.command("serve")
	said, err := h.serve.StderrPipe()
	if err != nil {
		return err
	}
	if err := h.serve.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, `"message":"ready"`) {
			go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the daemon
			return nil
		}
		if err != nil {
			return fmt.Errorf("the daemon did not start: %w", err)
		}
	}
}

// stop ends the daemon in order.
func (h *ourHistory) stop() error {
	if h.serve == nil {
		return nil
	}
	err := h.troupe.endDaemon()
	if err != nil { // it may have failed to start
		_ = h.serve.Process.Kill()
	}
	_ = h.serve.Wait()
	h.serve = nil
	return err
}

func (h *ourHistory) round(ctx context.Context) (values, error) {
	if err := h.copyJournal(); err != nil {
		return nil, err
	}
	if err := h.start(); err != nil {
		return nil, err
	}
	v := values{}
	var failed error
	measure := func(key string, times int, unit time.Duration, args ...string) {
		took := make([]time.Duration, 0, times)
		for range times {
			start := time.Now()
			failed = errors.Join(failed, h.troupe.command(args...).Run())
			took = append(took, time.Since(start))
		}
		v[key] = float64(percentile(took, 0.50)) / float64(unit) / h.share
	}
	settle(ctx, h.serve.Process.Pid)
	v["rss"] = statusOf(h.serve.Process.Pid, "VmRSS") * 1024 / 1e6 / h.share
	measure("ps", 9, time.Millisecond, "ps")
	measure("newest", 9, time.Millisecond, "ps", "-a", "-n", "20")
	measure("show", 9, time.Millisecond, "show", fmt.Sprintf("j%d", h.n/2))
	measure("all", 3, time.Second, "ps", "-a")
	measure("events", 1, time.Second, "events", "--after", "0")
	if err := errors.Join(failed, h.stop()); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := h.start(); err != nil {
		return nil, err
	}
	v["restart"] = time.Since(start).Seconds() / h.share
	v["full"] = h.size()
	measure("rm", 1, time.Second, "rm", "--ended")
	err := errors.Join(failed, h.stop())
	v["left"] = h.size()
	return v, err
}

// size returns the size of the journal in MiB.
func (h *ourHistory) size() float64 {
	info, err := os.Stat(h.state())
	if err != nil {
		return 0
	}
	return float64(info.Size()) / (1 << 20)
}

// copyJournal puts the journal that a round begins with into its place.
func (h *ourHistory) copyJournal() error {
	b, err := os.ReadFile(h.journal)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.state()), 0o700); err != nil {
		return err
	}
	return os.WriteFile(h.state(), b, 0o600)
}

func (h *ourHistory) close() error { return h.stop() }
