package node

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"troupe/backends"
	"troupe/backends/snapshot"
	"troupe/internal/shelltext"
	"troupe/messages"
)

func (o Options) checkSnapshot() error {
	if o.Snapshot && o.Engine != nil && o.Dir == "" {
		return messages.Invalid("snapshot", "Options.Dir is empty: a node with an Engine needs it for shell snapshots")
	}
	return nil
}

// shellSnapshots holds the shell snapshots of a node. nil makes none.
type shellSnapshots struct{ maker *snapshot.Maker }

// snapshots returns the maker of a node with an engine.
func (o Options) snapshots(p components) *shellSnapshots {
	if !o.Snapshot || p.engine == nil {
		return nil
	}
	dir := func() (string, error) { return o.Dir, nil }
	if p.store != nil {
		dir = p.store.Dir
	}
	return &shellSnapshots{snapshot.New(p.engine, snapshot.Options{
		Dir: dir, NewID: newUID,
		Forget: func(id messages.UID) { _ = p.logs.Remove(string(id)) }, // the job may have no log
	})}
}

// Of implements the Snapshots of the backends. For a user without a start file it returns "".
func (s *shellSnapshots) Of(ctx context.Context, path string, env []string) (file string, why *messages.Error) {
	if _, err := os.Stat(shelltext.StartFile(shelltext.Kind(path), env)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return s.maker.Of(ctx, path, env)
}

func (s *shellSnapshots) close() error {
	if s == nil {
		return nil
	}
	return s.maker.Close()
}

// withoutSnapshots stops the jobs of an inventory that make snapshots and removes them from
// it.
func (p components) withoutSnapshots(held []backends.InventoryJob) []backends.InventoryJob {
	return snapshot.StopLeftovers(p.engine, held, func(id messages.UID) { _ = p.logs.Remove(string(id)) })
}
