package keeper

import (
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

var _ backends.RemoteEngine = (*Fleet)(nil)

// Silent implements backends.Apart for the keeper of most jobs: a detached one has
// a keeper of its own, which stops for nobody else.
func (f *Fleet) Silent() <-chan struct{} {
	if f.main == nil {
		return nil
	}
	return f.main.Silent()
}

// Health implements backends.Apart.
func (f *Fleet) Health() *messages.Error {
	if f.main == nil {
		return nil
	}
	return f.main.Health()
}

// Small is as Client's; the log of a detached job is a file in any case.
func (f *Fleet) Small(id messages.UID) (outputs map[messages.Stream][]byte, order []byte, ok bool) {
	if f.main == nil || f.of(id) != nil {
		return nil, nil, false
	}
	return f.main.Small(id)
}

// Recorded is as Client's.
func (f *Fleet) Recorded(id messages.UID) {
	if f.main != nil && f.of(id) == nil {
		f.main.Recorded(id)
	}
}

// Order is as Client's.
func (f *Fleet) Order(id messages.UID) (*spill.Order, error) {
	if f.main == nil || f.of(id) != nil {
		return nil, spill.ErrNotFound
	}
	return f.main.Order(id)
}
