package spill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// A store leaves a reserve of its file system free, so that other programs, and the journals
// beside it, can write. Below that it removes the outputs of finished jobs, the least recently
// used first: before the output of a live job has no room.
const (
	// The reserve is maxReserve, or this share of a smaller file system.
	maxReserve   = 256 << 20
	reserveShare = 16
	// reserveCheck is how many bytes are written between two looks at the free space.
	reserveCheck = 1 << 20
)

// wrote counts n bytes that were written to files of the store. From time to time it checks
// the reserve.
func (d *Disk) wrote(n int64) {
	if d.unchecked.Add(n) >= reserveCheck {
		d.unchecked.Store(0)
		d.makeRoom(false)
	}
}

// makeRoom removes finished jobs until the reserve is free again, except the most recently
// used one. full says that the file system took nothing: then it removes as much as the
// reserve, if need be the last finished job too. It reports whether it removed any.
func (d *Disk) makeRoom(full bool) bool {
	free, size, err := d.tree.free()
	if err != nil {
		return false
	}
	reserve := min(maxReserve, size/reserveShare)
	need, spared := reserve-free, 1
	if full {
		need, spared = reserve, 0
	}
	out := d.oldest(need, spared)
	for _, j := range out {
		_ = j.remove() // on failure the file goes with the node's directory
	}
	return len(out) > 0
}

// oldest takes out and returns the least recently used finished jobs that have need bytes in
// files, except the most recently used ones that are spared.
func (d *Disk) oldest(need int64, spared int) []*job {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*job
	for e := d.finished.Back(); e != nil && need > 0 && d.finished.Len() > spared; {
		j := e.Value.(*job)
		e = e.Prev()
		if j.stored > 0 {
			need -= j.stored
			d.forget(j)
			out = append(out, j)
		}
	}
	return out
}

// makesRoom reports whether finished jobs were removed because of an error of the store's
// file system: a write can be tried again.
func (w *writer) makesRoom(err error) bool {
	var blocked *Blocked
	if !errors.As(err, &blocked) || w.plan.File != "" || w.noFile {
		return false
	}
	return (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) && w.disk.makeRoom(true)
}

// free returns the free space of the root's file system, and its size.
func (t *nodeDirs) free() (free, size int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil {
		return 0, 0, ErrClosed
	}
	return t.sys.Free(t.root.fd)
}
