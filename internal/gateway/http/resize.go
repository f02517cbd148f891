package http

import (
	"context"
	"errors"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// The terminal of a job has the size of whoever writes to it. Where somebody waits for the
// job in the foreground, at a terminal of his own, it was of his before, and is so again
// when nobody else writes any more.

// giveBackFor is how long the answer to that is waited for: a keeper of an older build
// gives none before the job has taken its input, and the size is given all the same.
const giveBackFor = time.Second

// resizeRequest is a size that is to be given.
type resizeRequest struct {
	to   messages.Terminal
	done chan struct{} // closed when it is given, or another instead
}

// wantsSize lets a size wait for its turn, in the place of the oldest that waits if these are
// many; the zero Terminal is the one that it has, in which it is painted again. Only that is
// asked for by one who watches.
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

// size changes the size of the terminal, one after the other. What the job is to read is
// not waited for.
func (a *attachment) size(ctx context.Context) {
	for {
		select {
		case next := <-a.sizes:
			if next.to == (messages.Terminal{}) {
				a.repaint(ctx)
			} else if err := a.resize(ctx, next.to); err != nil && ctx.Err() == nil {
				a.answer(ctx, wire.AttachEvent{Kind: wire.AttachFailed, Error: a.coded(err)})
			}
			close(next.done)
		case <-ctx.Done():
			return
		}
	}
}

// resize gives the terminal a size. That the job has ended is told, and no answer.
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

// mayResize reports whether an attachment holds the lease still. The first one that does
// so has the size of before remembered.
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

// resized remembers a size that the job's terminal was given by one who is not attached.
func (s *Server) resized(job messages.UID, size messages.Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leases[job]; l != nil && l.savedSize != (messages.Terminal{}) {
		l.savedSize = size
	}
}

// givesBack gives the terminal the size of before, if nobody writes behind who leaves.
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
		_, _ = a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: before}) // refused: it has ended
	}
}

// repaint changes the size of the terminal and changes it back: what paints it does so again
// then, and is seen by who has just come.
func (a *attachment) repaint(ctx context.Context) {
	job, err := a.node.Job(ctx, messages.JobID(a.uid))
	if err != nil || job.Terminal == (messages.Terminal{}) {
		return
	}
	for _, rows := range []int{job.Terminal.Rows + 1, job.Terminal.Rows} {
		_, _ = a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: messages.Terminal{Rows: rows, Cols: job.Terminal.Cols}}) // refused: it has ended
	}
}
