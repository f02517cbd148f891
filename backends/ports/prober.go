// Package ports finds out when a job listens on a TCP port. The kernel tells nobody
// of that, so it is looked for: often at first, and four times a second in the end.
package ports

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"troupe/messages"
)

// How long is waited between two looks.
const (
	first = 10 * time.Millisecond
	most  = 250 * time.Millisecond
	// patience is for one connection to another machine.
	patience = 5 * time.Second
)

// Prober waits for ports. It is safe for concurrent use.
type Prober struct{}

// Await calls found, once and from a goroutine of its own, when a process of the job
// listens on the port of c; if c names a host, when that takes a connection there.
// found is not called behind the return of stop. Neither Await nor stop waits for
// a look that is under way.
func (Prober) Await(job messages.Job, c messages.Condition, found func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &wait{job: job, condition: c, found: found}
	go w.look(ctx)
	return func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.found = nil
	}
}

// wait is one of them.
type wait struct {
	job       messages.Job
	condition messages.Condition

	mu    sync.Mutex
	found func() // nil: nobody wants to know any more
}

func (w *wait) look(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := first; ; pause = min(2*pause, most) {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if w.open(ctx) {
			w.tell()
			return
		}
		timer.Reset(pause)
	}
}

// open reports whether the port is open now. A job's own is not connected to: it may
// be there for one connection only.
func (w *wait) open(ctx context.Context) bool {
	if w.condition.Host == "" {
		return listens(w.job, w.condition.Port)
	}
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(w.condition.Host, strconv.Itoa(w.condition.Port)))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func (w *wait) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found != nil {
		w.found()
	}
}
