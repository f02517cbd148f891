//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ourWake measures how long after its exit the end of a background job is a line of troupe
// events, as a host reads it that is woken by it.
type ourWake struct {
	program *program
	dir     string
	stamp   string
	n       int
	events  *exec.Cmd
	lines   *bufio.Reader
}

func newOurWake(ctx context.Context, e assignment) (runner, error) {
	p, err := buildProgram(ctx, filepath.Join(e.Dir, "program"))
	if err != nil {
		return nil, err
	}
	w := &ourWake{program: p, dir: e.Dir, stamp: filepath.Join(e.Dir, "stamp"), n: e.Size.Wakes}
	if err := writeStamp(w.stamp, firstPause); err != nil {
		return nil, err
	}
	if said, err := p.command("run", "-b", "true").CombinedOutput(); err != nil {
		return w, fmt.Errorf("cannot start the daemon: %w\n%s", err, said)
	}
	w.events = p.command("events", "-f", "--ends", "--background", "--json", "--cursor", filepath.Join(e.Dir, "cursor"))
	out, err := w.events.StdoutPipe()
	if err != nil {
		return w, err
	}
	if err := w.events.Start(); err != nil {
		return w, err
	}
	w.lines = bufio.NewReader(out)
	_, err = w.lines.ReadString('\n') // the end of the first job
	return w, err
}

func (w *ourWake) round(context.Context) (values, error) {
	var times []time.Duration
	for i := range w.n {
		file := filepath.Join(w.dir, fmt.Sprint("stamp-", i))
		if said, err := w.program.command("run", "-b", fmt.Sprintf("exec '%s' > '%s'", w.stamp, file)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot start a job: %w\n%s", err, said)
		}
		line, err := w.lines.ReadBytes('\n')
		now := monotonic()
		if err != nil {
			return nil, err
		}
		var end struct{ Job struct{ Outcome string } }
		if err := json.Unmarshal(line, &end); err != nil || end.Job.Outcome != "exited" {
			return nil, fmt.Errorf("the line is no end of a job: %.200s", line)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		at, err := readStamp(text)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Duration(now-at))
	}
	return latencies(times), nil
}

func (w *ourWake) close() error {
	if w.events != nil && w.events.Process != nil {
		_ = w.events.Process.Kill()
		_ = w.events.Wait()
	}
	return w.program.endDaemon()
}
