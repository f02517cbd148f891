//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/backends/shell"
	"troupe/messages"
	"troupe/spill"
)

// ourShell is one live shell of an engine: the way a session's command goes below the
// tree, with an exact status and an output of its own.
type ourShell struct {
	engine *engine.Local
	store  *spill.Disk
	place  backends.Shell
	facts  chan messages.ProcessFact // of the command that runs
	n      int
	series int // apart from the other shells of the engine
	next   int
	beside bool // the engine is another one's
}

func newOurShell(_ context.Context, e errand) (runner, error) { return ourShellOn(e, shell.Options{}) }

func newOurShellOnTerminal(_ context.Context, e errand) (runner, error) {
	return ourShellOn(e, shell.Options{Terminal: messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}})
}

func ourShellOn(e errand, how shell.Options) (*ourShell, error) {
	o := &ourShell{n: e.Size.RoundTrips, facts: make(chan messages.ProcessFact, 16)}
	dir := o.dir(e)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return o, err
	}
	var err error
	if o.store, err = spill.OpenStore(spill.Options{Root: dir, Node: "BENCH"}); err != nil {
		return o, err
	}
	o.engine, err = engine.New(engine.Options{Node: "BENCH", Store: o.store, Own: true, ScriptDir: o.store.Dir})
	if err != nil {
		return o, err
	}
	return o, o.open(e, how)
}

func (o *ourShell) dir(e errand) string { return filepath.Join(e.Dir, e.Scenario+"-"+string(e.Side)) }

func (o *ourShell) open(e errand, how shell.Options) (err error) {
	at := backends.Place{Scope: "main", Session: messages.SessionID(fmt.Sprintf("bench%d", o.series)), Dir: o.dir(e), Env: os.Environ(), Umask: -1, Shell: "bash"}
	o.place, err = shell.New(o.engine, how).Open(at, nil, func(messages.ProcessFact) {})
	return err
}

func (o *ourShell) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, o.n)
	for range o.n {
		start := time.Now()
		exited, proc, err := o.command(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		proc.Settle(exited.Last)
		if err := o.store.Remove(o.id()); err != nil {
			return nil, err
		}
	}
	return latencies(times), nil
}

func (o *ourShell) id() string { return fmt.Sprintf("01%012X%012X", o.series, o.next) }

// command runs one to its last word, which comes with its result.
func (o *ourShell) command(ctx context.Context) (exited messages.ProcessExited, proc backends.Process, err error) {
	o.next++
	proc = o.place.Start(backends.Command{
		ID: messages.UID(o.id()), Text: ":", Umask: -1, Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams},
	}, func(f messages.ProcessFact) { o.facts <- f })
	for {
		select {
		case fact := <-o.facts:
			switch f := fact.(type) {
			case messages.ProcessFailed:
				return exited, proc, &f.Err
			case messages.ProcessExited:
				if f.Last == 0 || f.Status != (messages.ExitStatus{}) {
					err = fmt.Errorf("a command in a live shell ended with %+v", f)
				}
				return f, proc, err
			}
		case <-ctx.Done():
			return exited, proc, ctx.Err()
		}
	}
}

func (o *ourShell) close() error {
	var err error
	if o.beside {
		return nil
	}
	if o.engine != nil {
		err = survived(o.engine.Close(false))
	}
	if o.store != nil {
		_ = o.store.Close()
	}
	return err
}
