package keeper

import (
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

var _ backends.RemoteEngine = (*Fleet)(nil)

// Unresponsive implements backends.RemoteEngine for the main keeper. The keeper of a
// detached job affects that job only.
func (f *Fleet) Unresponsive() <-chan struct{} {
	if f.main == nil {
		return nil
	}
	return f.main.Unresponsive()
}

// Health implements backends.RemoteEngine.
func (f *Fleet) Health() *messages.Error {
	if f.main == nil {
		return nil
	}
	return f.main.Health()
}

// SmallOutputs implements backends.RemoteEngine. Logs of detached jobs are files, and
// never small outputs.
func (f *Fleet) SmallOutputs(id messages.UID) (outputs map[messages.Stream][]byte, order []byte, ok bool) {
	if f.main == nil || f.of(id) != nil {
		return nil, nil, false
	}
	return f.main.SmallOutputs(id)
}

// ReleaseSmall implements backends.RemoteEngine.
func (f *Fleet) ReleaseSmall(id messages.UID) {
	if f.main != nil && f.of(id) == nil {
		f.main.ReleaseSmall(id)
	}
}

// Order implements backends.RemoteEngine.
func (f *Fleet) Order(id messages.UID) (*spill.Order, error) {
	if f.main == nil || f.of(id) != nil {
		return nil, spill.ErrNotFound
	}
	return f.main.Order(id)
}
