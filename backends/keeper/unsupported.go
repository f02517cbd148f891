//go:build !linux

package keeper

import (
	"context"
	"time"

	"troupe/backends"
	"troupe/internal/limits"
	"troupe/messages"
	"troupe/spill"
)

// Client is a placeholder: keepers exist on Linux only, and Open never returns one.
type Client struct {
	backends.Engine
	backends.RemoteEngine
}

func unsupported() *messages.Error {
	return refused(messages.Unsupported, "keeper", "there are no keepers on this system: they need Linux", "run jobs in this process")
}

// Open returns an error.
func Open(context.Context, ClientOptions) (*Client, error) { return nil, unsupported() }

// Serve returns an error.
func Serve(context.Context, Options) error { return unsupported() }

// Main returns an error.
func Main(string, int, string, bool, bool, limits.Given) error { return unsupported() }

// Keeper returns zero values.
func (*Client) Keeper() (id string, pid int) { return "", 0 }

// Open returns an error.
func (*Client) Open(messages.UID, messages.Stream) (spill.Log, error) { return nil, unsupported() }

// Remove does nothing.
func (*Client) Remove(messages.UID) {}

// SmallOutputs returns nothing.
func (*Client) SmallOutputs(messages.UID) (map[messages.Stream][]byte, []byte, bool) {
	return nil, nil, false
}

// States returns nil.
func (*Client) States([]messages.UID) map[spill.Name]spill.State { return nil }

// ReleaseSmall does nothing.
func (*Client) ReleaseSmall(messages.UID) {}

// Order returns spill.ErrNotFound.
func (*Client) Order(messages.UID) (*spill.Order, error) { return nil, spill.ErrNotFound }

// Build returns "".
func (*Client) Build() string { return "" }

// Fleet is a placeholder, as Client is.
type Fleet struct {
	*Client
	backends.Detacher
}

// PID returns 0.
func (*Fleet) PID() int { return 0 }

// OpenFleet returns an error.
func OpenFleet(context.Context, FleetOptions) (*Fleet, error) { return nil, unsupported() }

// Inspect returns an error.
func Inspect(string) (Inspection, error) { return Inspection{}, unsupported() }

// WaitEnd returns an error.
func WaitEnd(context.Context, string) error { return unsupported() }

// Running returns nothing.
func Running(string) (jobs []messages.UID, shells int) { return nil, 0 }

// Holder returns 0.
func Holder(string) int { return 0 }

// ListDetached returns nil.
func ListDetached(string) []messages.UID { return nil }

// Sweep does nothing.
func Sweep(string, time.Duration) {}

// DiskNeeded returns 0.
func DiskNeeded(string) int64 { return 0 }

// Escaped returns nothing.
func Escaped(string) []Escapee { return nil }

// Damage returns "".
func Damage(string) string { return "" }

// EndForeign returns 0.
func EndForeign(string) (pid int, left []messages.Survivor, err error) { return 0, nil, nil }

// SetAside returns nil.
func SetAside(string) error { return nil }
