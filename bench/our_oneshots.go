//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"troupe/messages"
)

// ourOneShots runs one job after the other. Each is over when its result is there and a
// subscriber has received its end.
type ourOneShots struct {
	*ourNode
	notices
	n int
}

func newOurOneShots(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	told, err := h.subscribe(ctx)
	return &ourOneShots{h, told, e.Size.OneShots}, err
}

func (o *ourOneShots) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, o.n)
	for range o.n {
		start := time.Now()
		job, err := o.run(ctx, messages.RunCommand{Program: messages.Program{Text: nothing}})
		if err != nil {
			return nil, err
		}
		told, err := o.next(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		if told.UID != job.UID {
			return nil, fmt.Errorf("got the end of %s, want %s", told.ID, job.ID)
		}
	}
	return latencies(times), nil
}

// ourBurst runs jobs with some in flight.
type ourBurst struct {
	*ourNode
	notices
	n, workers int
}

func newOurBurst(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	told, err := h.subscribe(ctx)
	return &ourBurst{h, told, e.Size.Burst, e.Size.InFlight}, err
}

func (o *ourBurst) round(ctx context.Context) (values, error) {
	start := time.Now()
	heard := make(chan error, 1)
	go func() {
		for range o.n {
			if _, err := o.next(ctx); err != nil {
				heard <- err
				return
			}
		}
		heard <- nil
	}()
	err := inFlight(o.workers, o.n, func(int) error {
		_, err := o.run(ctx, messages.RunCommand{Program: messages.Program{Text: nothing}})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = <-heard
	return values{"rate": perSecond(o.n, time.Since(start))}, err
}

// ourSpill runs a job with a large output.
type ourSpill struct {
	*ourNode
	content content
	sum     string
}

// warmUp writes an output that touches every page of code that a large one needs.
const warmUp = "head -c 8M /dev/zero"

func newOurSpill(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	o := &ourSpill{ourNode: h}
	if o.content, err = makeContent(filepath.Join(e.Dir, "our-content"), e.Size.SpillMiB); err != nil {
		return o, err
	}
	if o.sum, err = o.content.sum(); err != nil {
		return o, err
	}
	_, err = o.run(ctx, messages.RunCommand{Program: messages.Program{Text: warmUp}})
	return o, err
}

func (o *ourSpill) round(ctx context.Context) (values, error) {
	if err := resetPeak(); err != nil {
		return nil, err
	}
	before := ownStatus("VmRSS")
	start := time.Now()
	job, err := o.run(ctx, messages.RunCommand{Program: messages.Program{Text: o.content.producer()}})
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	grown := ownStatus("VmHWM") - before
	if got := job.Output[0].Bytes; got != o.content.bytes() {
		return nil, fmt.Errorf("the log has %d bytes, want %d", got, o.content.bytes())
	}
	v := values{"rate": perSecond(int(o.content.bytes()), took) / 1e6, "rss": grown / 1024, "wrong": 0}
	if err := o.check(ctx, job.ID); errors.Is(err, errOtherBytes) {
		v["wrong"] = 1
	} else if err != nil {
		return nil, err
	}
	_, err = o.node.Ask(ctx, messages.RemoveJob{Job: job.ID}) // also removes its file
	return v, err
}

var errOtherBytes = errors.New("the log does not hold the written bytes")

// check reads the log as a client does and compares it with the written bytes.
func (o *ourSpill) check(ctx context.Context, job messages.JobID) error {
	log, err := o.node.Output(ctx, job, messages.Merged, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	sum, err := sumReader(log)
	if err == nil && sum != o.sum {
		err = errOtherBytes
	}
	return err
}
