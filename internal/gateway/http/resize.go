package http

import (
	"context"
	"errors"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// A job's terminal has the size of the client that writes to it. A foreground job on
// its caller's own terminal had that terminal's size before. It gets that size back
// when the last writer leaves.

// giveBackFor bounds the wait for the reply to that. A keeper of an older build replies
// only after the job has read its input, but sets the size anyway.
const giveBackFor = time.Second

// resizeRequest is a size to set.
type resizeRequest struct {
	to   messages.Terminal
	done chan struct{} // closed when the size is set or replaced by a newer one
}

// wantsSize queues a size and drops the oldest ones if the queue is full. The zero
// Terminal requests a repaint at the current size; only that needs no lease.
func (a *attachment) wantsSize(size messages.Terminal) *messages.Error {
	if size != (messages.Terminal{}) && !a.holds(a) {
		return a.noLease(a)
	}
	next := resizeRequest{to: size, done: make(chan struct{})}
	for {
		select {
		case a.sizes <- next:
			a.sized = next.done
			return nil
		default:
		}
		select {
		case oldest := <-a.sizes:
			close(oldest.done)
		default:
		}
	}
}

// size sets the queued sizes in order, independent of pending input.
func (a *attachment) size(ctx context.Context) {
	for {
		select {
		case next := <-a.sizes:
			if next.to == (messages.Terminal{}) {
				a.repaint(ctx)
			} else if err := a.resize(ctx, next.to); err != nil && ctx.Err() == nil {
				a.answer(ctx, api.AttachEvent{Kind: api.AttachFailed, Error: a.coded(err)})
			}
			close(next.done)
		case <-ctx.Done():
			return
		}
	}
}

// resize sets the size of the terminal. It returns nil for an ended job: the end has a
// message of its own.
func (a *attachment) resize(ctx context.Context, size messages.Terminal) error {
	if !a.mayResize(ctx) {
		return a.noLease(a)
	}
	reply, err := a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: size})
	if err == nil {
		err = messages.Refusal(reply)
	}
	if errors.Is(err, &messages.Error{Code: messages.JobFinished}) {
		return nil
	}
	return err
}

// mayResize reports whether an attachment still holds the lease. The first holder to
// resize saves the size from before.
func (a *attachment) mayResize(ctx context.Context) bool {
	job, err := a.node.Job(ctx, messages.JobID(a.uid))
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.leases[a.uid]
	if l.holder == a && err == nil && l.savedSize == (messages.Terminal{}) {
		l.savedSize = job.Terminal
	}
	return l.holder == a
}

// resized updates the saved size after a resize by a client that is not attached.
func (s *Server) resized(job messages.UID, size messages.Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leases[job]; l != nil && l.savedSize != (messages.Terminal{}) {
		l.savedSize = size
	}
}

// givesBack restores the saved size if no other client will write after this one.
func (a *attachment) givesBack() {
	a.mu.Lock()
	l := a.leases[a.uid]
	before, last := l.savedSize, l.holder == a && l.requester == nil && len(l.waiting) == 0
	a.mu.Unlock()
	if !last || before == (messages.Terminal{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), giveBackFor)
	defer cancel()
	if job, err := a.node.Job(ctx, messages.JobID(a.uid)); err == nil && !job.Background && !job.State.Ended() {
		_, _ = a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: before}) // refused if the job has ended
	}
}

// repaint changes the size of the terminal and changes it back, so that the program
// paints it again for a new viewer.
func (a *attachment) repaint(ctx context.Context) {
	job, err := a.node.Job(ctx, messages.JobID(a.uid))
	if err != nil || job.Terminal == (messages.Terminal{}) {
		return
	}
	for _, rows := range []int{job.Terminal.Rows + 1, job.Terminal.Rows} {
		_, _ = a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: messages.Terminal{Rows: rows, Cols: job.Terminal.Cols}}) // refused if the job has ended
	}
}
