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

// resizeEvery is the least time between two changes of a size. A dragged window sends dozens of
// sizes a second, and each change makes the program paint its whole screen. Sizes that come
// meanwhile become one, the last.
const resizeEvery = 50 * time.Millisecond

// giveBackFor bounds the wait for the reply to that. A keeper of an older build replies
// only after the job has read its input, but sets the size anyway.
const giveBackFor = time.Second

// resizeRequest is a size to set, or a repaint, or both.
type resizeRequest struct {
	to      messages.Terminal // zero: the size stays
	repaint bool
	done    chan struct{} // closed when it is done
}

// join adds a newer request. Its size replaces the one before.
func (r resizeRequest) join(next resizeRequest) resizeRequest {
	r.repaint = r.repaint || next.repaint
	if next.to != (messages.Terminal{}) {
		r.to = next.to
	}
	return r
}

// wantsSize requests a size. It joins a request that waits. The zero Terminal requests a
// repaint at the current size; only that needs no lease. The first size of an attachment
// requests a repaint, too: its client has not seen the program paint. Only listen calls it.
func (a *attachment) wantsSize(size messages.Terminal) *messages.Error {
	if size != (messages.Terminal{}) && !a.holds(a) {
		return a.noLease(a)
	}
	next := resizeRequest{to: size, repaint: size == (messages.Terminal{}) || a.sized == nil, done: make(chan struct{})}
	select {
	case waiting := <-a.sizes:
		next = waiting.join(next)
	default:
	}
	a.sizes <- next // there is room: no other goroutine sends
	a.sized = next.done
	return nil
}

// size sets the requested sizes, one each resizeEvery, independent of pending input.
func (a *attachment) size(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		select {
		case next := <-a.sizes:
			wait := time.Duration(0)
			if a.setSize(ctx, next) {
				wait = resizeEvery
			}
			close(next.done)
			pause.Reset(wait)
		case <-ctx.Done():
			return
		}
	}
}

// setSize performs a request, and returns whether the program repaints, as it does after a
// change of the size.
func (a *attachment) setSize(ctx context.Context, r resizeRequest) (repaints bool) {
	if r.to != (messages.Terminal{}) {
		var err error
		if repaints, err = a.resize(ctx, r.to); err != nil && ctx.Err() == nil {
			a.answer(ctx, api.AttachEvent{Kind: api.AttachFailed, Error: a.coded(err)})
		}
	}
	if r.repaint && !repaints {
		a.repaint(ctx)
		return true
	}
	return repaints
}

// resize sets the size of the terminal, if the attachment still has the lease. It returns
// whether that is another size. An ended job is no error: the end has a message of its own.
func (a *attachment) resize(ctx context.Context, size messages.Terminal) (changed bool, err error) {
	before, may := a.mayResize(ctx)
	if !may {
		return false, nil
	}
	reply, err := a.node.Ask(ctx, messages.ResizeTerminal{Job: messages.JobID(a.uid), Size: size})
	if err == nil {
		err = messages.Refusal(reply)
	}
	if errors.Is(err, &messages.Error{Code: messages.JobFinished}) {
		return false, nil
	}
	return before != size, err
}

// mayResize returns the present size, and whether an attachment still holds the lease. The
// first holder to resize saves the size from before.
func (a *attachment) mayResize(ctx context.Context) (messages.Terminal, bool) {
	job, err := a.node.Job(ctx, messages.JobID(a.uid))
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.leases[a.uid]
	if l.holder == a && err == nil && l.savedSize == (messages.Terminal{}) {
		l.savedSize = job.Terminal
	}
	return job.Terminal, l.holder == a
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
