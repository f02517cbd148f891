//go:build !linux

package peer

import "errors"

// Removal is not supported on this platform.
type Removal struct{}

// WatchRemoval returns errors.ErrUnsupported.
func WatchRemoval(string) (*Removal, error) { return nil, errors.ErrUnsupported }

// Wait returns errors.ErrUnsupported.
func (*Removal) Wait() error { return errors.ErrUnsupported }

// Close returns errors.ErrUnsupported.
func (*Removal) Close() error { return errors.ErrUnsupported }
