//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"troupe/messages"
)

// ourNotices measures how long after its exit a subscriber receives the end of a job,
// in a node with many idle and some busy sessions.
type ourNotices struct {
	*ourNode
	notices
	programs []string
	exits    int
}

func newOurNotices(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	o := &ourNotices{ourNode: h, exits: e.Size.Exits}
	dir := filepath.Join(e.Dir, "our-stamps")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return o, err
	}
	if o.programs, err = stamps(dir, e.Size.Active); err != nil {
		return o, err
	}
	for i := range e.Size.Idle {
		reply, err := h.node.Ask(ctx, messages.OpenSession{Session: messages.SessionID(fmt.Sprintf("idle-%d", i))})
		if _, opened := reply.(messages.SessionOpened); err != nil || !opened {
			return o, fmt.Errorf("a session was answered with %#v: %w", reply, err)
		}
	}
	o.notices, err = h.subscribe(ctx)
	return o, err
}

func (o *ourNotices) round(ctx context.Context) (values, error) {
	heard := make(chan arrivals, 1)
	go func() { heard <- o.listen(ctx, len(o.programs)*o.exits) }()
	var mu sync.Mutex
	stamped := map[messages.UID]int64{}
	err := inFlight(len(o.programs), len(o.programs), func(i int) error {
		session := messages.SessionID(fmt.Sprintf("active-%d", i))
		for range o.exits {
			job, err := o.run(ctx, messages.RunCommand{Session: session, Program: messages.Program{Argv: []string{o.programs[i]}}})
			if err != nil {
				return err
			}
			at, err := o.stamp(ctx, job.ID)
			if err != nil {
				return err
			}
			mu.Lock()
			stamped[job.UID] = at
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := <-heard
	var times []time.Duration
	for uid, at := range all.at {
		times = append(times, time.Duration(at-stamped[uid]))
	}
	return latencies(times), all.err
}

// arrivals holds when a subscriber received the end of each job.
type arrivals struct {
	at  map[messages.UID]int64
	err error
}

func (o *ourNotices) listen(ctx context.Context, n int) arrivals {
	t := arrivals{at: make(map[messages.UID]int64, n)}
	for range n {
		job, err := o.next(ctx)
		if err != nil {
			t.err = err
			break
		}
		t.at[job.UID] = monotonic()
	}
	return t
}

// stamp returns the time that a job wrote.
func (o *ourNotices) stamp(ctx context.Context, job messages.JobID) (int64, error) {
	out, err := o.node.Output(ctx, job, messages.Merged, 0)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		return 0, err
	}
	return readStamp(text)
}

// ourAsks queries the supervisor about a live job.
type ourAsks struct {
	*ourNode
	n   int
	job messages.JobID
}

func newOurAsks(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	job, err := h.begin(ctx, messages.RunCommand{Program: messages.Program{Argv: crowdArgv(sleepMark(0))}})
	return &ourAsks{h, e.Size.Asks, job.ID}, err
}

func (o *ourAsks) round(ctx context.Context) (values, error) {
	return timeAsks(o.n, func() error {
		reply, err := o.node.Ask(ctx, messages.FindJob{Job: o.job})
		if found, is := reply.(messages.JobFound); err == nil && (!is || found.Job.State != messages.Running) {
			err = fmt.Errorf("the query was answered with %#v", reply)
		}
		return err
	})
}
