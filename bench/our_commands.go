//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"troupe/messages"
)

// ourCommands runs one command after the other to its result: in a node of this
// process, in one whose jobs are in a keeper, or by a daemon.
type ourCommands struct {
	run func(context.Context, messages.RunCommand) (messages.Record, error)
	end func() error
	n   int
}

func newOurCommands(ctx context.Context, e assignment) (runner, error) {
	if e.Side == served || e.Side == whole {
		dir := filepath.Join(e.Dir, "daemon-"+string(e.Side))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		d, err := startDaemon(ctx, dir, e.Side)
		if err != nil {
			return nil, err
		}
		return &ourCommands{d.run, d.close, e.Size.Commands}, nil
	}
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	return &ourCommands{h.run, h.close, e.Size.Commands}, nil
}

func (o *ourCommands) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, o.n)
	for range o.n {
		start := time.Now()
		if _, err := o.run(ctx, messages.RunCommand{Program: messages.Program{Text: nothing}}); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	return values{"p50": float64(percentile(times, 0.50)) / float64(time.Microsecond)}, nil
}

func (o *ourCommands) close() error { return o.end() }
