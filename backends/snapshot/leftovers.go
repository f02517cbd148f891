package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// StopLeftovers removes the jobs of a killed maker from an inventory, stops them without
// waiting, and passes each to forget, which drops its logs. It returns the other jobs.
func StopLeftovers(engine backends.Engine, held []backends.InventoryJob, forget func(job messages.UID)) []backends.InventoryJob {
	rest := make([]backends.InventoryJob, 0, len(held))
	for _, h := range held {
		if string(h.Meta) != Mark {
			rest = append(rest, h)
			continue
		}
		go stopLeftover(engine, h.ID, forget)
	}
	return rest
}

func stopLeftover(engine backends.Engine, id messages.UID, forget func(messages.UID)) {
	e := &jobEnd{over: make(chan struct{})}
	proc, err := engine.Adopt(id, e.receive)
	if err != nil {
		return // nothing of it is left
	}
	proc.Stop(messages.Cause{By: messages.BySystem, Reason: "the node that made the snapshot has ended"}, 0)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-e.over:
	case <-late.C: // a keeper that hangs applies the job's deadline later
		proc.Release()
		return
	}
	_, last, _ := e.result()
	proc.Settle(last)
	proc.Release()
	forget(id)
}

// Sweep removes the files that a killed maker left in the node's directory dir. No other maker
// may use dir.
func Sweep(dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(folder)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // no snapshot was made
	}
	left, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range left {
		if strings.HasPrefix(entry.Name(), filePrefix) {
			errs = append(errs, root.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	_ = root.Remove(folder) // keeps a folder with other files
	return errors.Join(errs...)
}
