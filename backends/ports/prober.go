package ports

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"troupe/messages"
)

// Times between two probes, and the limit of one connection.
const (
	first = 10 * time.Millisecond
	most  = 250 * time.Millisecond
	// patience bounds one connection to another machine.
	patience = 5 * time.Second
)

// Prober waits for ports. It is safe for concurrent use.
type Prober struct{}

// Await calls found once, in its own goroutine, when a process of the job listens on the port of
// c. If c names a host, it waits until that host accepts a connection on the port instead. found
// is not called after stop has returned. Neither Await nor stop waits for a probe in progress.
func (Prober) Await(job messages.Record, c messages.Condition, found func()) (stop func()) {
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

// wait is one call of Await.
type wait struct {
	job       messages.Record
	condition messages.Condition

	mu    sync.Mutex
	found func() // nil: stopped
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

// open reports whether the port is open now. It does not connect to a job's own port, which
// may serve only one connection.
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
