package attach

import "context"

// inputWindow bounds the pieces of input in flight. The daemon queues twice as many for a
// job that does not read, and refuses more.
const inputWindow = 8

// sendWindow limits the pieces that are sent and not acknowledged.
type sendWindow struct {
	slots chan struct{}
	lost  chan struct{} // closed by refuse
}

func newWindow() *sendWindow {
	return &sendWindow{slots: make(chan struct{}, inputWindow), lost: make(chan struct{})}
}

// take waits for a slot. It returns false if more input must not be sent.
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

// try takes a slot if one is free.
func (w *sendWindow) try() bool {
	select {
	case w.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// give frees a slot after an acknowledgement.
func (w *sendWindow) give() {
	select {
	case <-w.slots:
	default: // the reply was to another request
	}
}

// clear frees all slots and returns how many were taken.
func (w *sendWindow) clear() (taken int) {
	for {
		select {
		case <-w.slots:
			taken++
		default:
			return taken
		}
	}
}

// refuse ends sending after a piece was lost: later input would follow a gap. Only one
// goroutine may call it.
func (w *sendWindow) refuse() {
	select {
	case <-w.lost:
	default:
		close(w.lost)
	}
}
