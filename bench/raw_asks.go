//go:build linux

package main

import (
	"context"
	"runtime"
	"time"
)

// rawAsks queries a goroutine that owns a table.
type rawAsks struct {
	n         int
	questions chan rawQuestion
}

type rawQuestion struct {
	job    string
	answer chan rawStatus
}

type rawStatus struct {
	pid   int
	state string
}

// rawJob is the queried job.
const rawJob = "j1"

func newRawAsks(_ context.Context, e assignment) (runner, error) {
	r := &rawAsks{e.Size.Asks, make(chan rawQuestion)}
	go func() {
		table := map[string]rawStatus{rawJob: {1, "running"}}
		for q := range r.questions {
			q.answer <- table[q.job]
		}
	}()
	return r, nil
}

func (r *rawAsks) round(context.Context) (values, error) {
	answer := make(chan rawStatus, 1)
	return timeAsks(r.n, func() error {
		r.questions <- rawQuestion{rawJob, answer}
		<-answer
		return nil
	})
}

// timeAsks returns the time in microseconds and the allocations of one query, including
// those of the answering goroutine.
func timeAsks(n int, ask func() error) (values, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return values{
		"time":   float64(took) / float64(time.Microsecond) / float64(n),
		"allocs": float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}

func (r *rawAsks) close() error {
	close(r.questions)
	return nil
}
