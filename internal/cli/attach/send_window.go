package attach

import "context"

// inputWindow is how many pieces of input may be on their way to a job: the
// daemon keeps twice as many for one that does not read, and refuses the rest.
const inputWindow = 8

// sendWindow counts the pieces that were sent and are not answered. A sender without
// room waits.
type sendWindow struct {
	slots chan struct{}
	lost  chan struct{} // closed by refuse
}

func newWindow() *sendWindow {
	return &sendWindow{slots: make(chan struct{}, inputWindow), lost: make(chan struct{})}
}

// take waits for room. It reports false if there is no use in sending more.
func (w *sendWindow) take(ctx context.Context) bool {
	select {
	case <-w.lost:
		return false
	default:
	}
	select {
	case w.slots <- struct{}{}:
		return true
	case <-w.lost:
	case <-ctx.Done():
	}
	return false
}

// try takes room if there is some.
func (w *sendWindow) try() bool {
	select {
	case w.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// give makes room: a piece was answered.
func (w *sendWindow) give() {
	select {
	case <-w.slots:
	default: // the answer was to something else
	}
}

// refuse says that a piece was lost, so that what follows it makes no sense. It is
// for one goroutine.
func (w *sendWindow) refuse() {
	select {
	case <-w.lost:
	default:
		close(w.lost)
	}
}
