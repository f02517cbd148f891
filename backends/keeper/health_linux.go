package keeper

import (
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

var _ backends.RemoteEngine = (*Fleet)(nil)

// Unresponsive implements backends.Apart for the keeper of most jobs: a detached one has
// a keeper of its own, which stops for nobody else.
func (f *Fleet) Unresponsive() <-chan struct{} {
	if f.main == nil {
		return nil
	}
	return f.main.Unresponsive()
}

// Health implements backends.Apart.
func (f *Fleet) Health() *messages.Error {
	if f.main == nil {
		return nil
	}
	return f.main.Health()
}

// SmallOutputs is as Client's; the log of a detached job is a file in any case.
func (f *Fleet) SmallOutputs(id messages.UID) (outputs map[messages.Stream][]byte, order []byte, ok bool) {
	if f.main == nil || f.of(id) != nil {
		return nil, nil, false
	}
	return f.main.SmallOutputs(id)
}

// ReleaseSmall is as Client's.
func (f *Fleet) ReleaseSmall(id messages.UID) {
	if f.main != nil && f.of(id) == nil {
		f.main.ReleaseSmall(id)
	}
}

// Order is as Client's.
func (f *Fleet) Order(id messages.UID) (*spill.Order, error) {
	if f.main == nil || f.of(id) != nil {
		return nil, spill.ErrNotFound
	}
	return f.main.Order(id)
}
