package spill

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Recover takes over the directory of a dead store with the same node. Its logs can be
// opened as before, sealed, within the limits of finished jobs. Logs that were only in
// memory are lost. Call it before the first Create. Without such a directory it does
// nothing; if the owner is alive it fails.
func (d *Disk) Recover() error {
	dir, err := d.tree.inherit()
	if dir == "" || err != nil {
		return err
	}
	groups, err := os.ReadDir(filepath.Join(dir, sessionsDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var found []leftoverLog
	for _, g := range groups {
		if g.IsDir() {
			logs, err := d.recoverGroup(g.Name())
			if err != nil {
				return err
			}
			found = append(found, logs...)
		}
	}
	slices.SortStableFunc(found, func(a, b leftoverLog) int { return cmp.Compare(a.changed.UnixNano(), b.changed.UnixNano()) })
	for _, j := range d.enroll(found) {
		_ = j.remove() // on failure the file goes with the node's directory
	}
	return nil
}

// leftoverLog is a log of a dead store.
type leftoverLog struct {
	log     *sharedLog
	changed time.Time // last modification
}

// enroll makes finished jobs of the logs, oldest first, and returns the jobs above the
// limits.
func (d *Disk) enroll(found []leftoverLog) []*job {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range found {
		if l.log.stream == orderStream {
			continue
		}
		j := d.jobs[l.log.id]
		if j == nil {
			j = &job{id: l.log.id}
			d.jobs[j.id] = j
		} else {
			d.unfinish(j)
		}
		l.log.job = j
		j.logs[l.log.stream] = l.log
		d.retain(j)
	}
	for _, l := range found {
		if l.log.stream == orderStream {
			d.enrollOrder(l.log)
		}
	}
	return d.excess()
}

// enrollOrder gives a job its order index, if that fits its logs. If the job ran when
// the store died, the index may end early.
func (d *Disk) enrollOrder(b *sharedLog) {
	j := d.jobs[b.id]
	o := &order{sharedLog: b}
	if j == nil || j.logs[Stdout] == nil || j.logs[Stderr] == nil {
		_ = b.file.unlink()
		return
	}
	var sum [2]int64
	index := &Order{log: b.reader(), size: b.size}
	for p := range index.Pieces() {
		sum[p.Stream-Stdout] += p.Length
	}
	_ = index.Close()
	out, err := j.logs[Stdout].size, j.logs[Stderr].size
	if sum[0] > out || sum[1] > err {
		_ = b.file.unlink()
		return
	}
	o.full = sum[0] < out || sum[1] < err
	d.unfinish(j)
	j.order = o
	d.retain(j)
}

// recoverGroup opens the logs of one session and removes unfinished files.
func (d *Disk) recoverGroup(group string) ([]leftoverLog, error) {
	dir, err := d.openDir(dirRef{group: group}, false)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	entries, err := os.ReadDir(d.tree.filePath(dirRef{group: group}, ""))
	if err != nil {
		return nil, err
	}
	var found []leftoverLog
	for _, e := range entries {
		id, stream, ok := parseFileName(e.Name())
		if !ok {
			if of, mark := strings.CutSuffix(e.Name(), markSuffix); strings.HasSuffix(e.Name(), newSuffix) || mark && !isThere(entries, of) {
				_ = d.sys.Unlink(dir.fd, e.Name())
			}
			continue
		}
		h, err := d.openFile(dir, e.Name(), unix.O_RDWR|unix.O_NONBLOCK)
		if err != nil {
			continue // not a file of the store
		}
		plan, err := Plan{Group: group}.resolve()
		if err != nil {
			h.free()
			return found, err
		}
		l, err := d.recoverLog(h, dirRef{group: group}, plan, e.Name(), id, stream)
		h.free()
		if err == nil {
			found = append(found, l)
		}
	}
	return found, nil
}

func (d *Disk) recoverLog(h *handle, p dirRef, plan Plan, name, id string, stream uint8) (leftoverLog, error) {
	st, err := d.sys.Stat(h.fd)
	if err != nil {
		return leftoverLog{}, err
	}
	if !st.Regular || st.Links != 1 || int(st.UID) != os.Geteuid() {
		return leftoverLog{}, errGone
	}
	f, err := d.adopt(p, name, h)
	if err != nil {
		return leftoverLog{}, err
	}
	b := &sharedLog{disk: d, id: id, stream: stream, group: plan.Group, plan: &plan, size: st.Size, sealed: true, file: f}
	if mp, mark, ok := b.markPlace(p, name); ok {
		if b.marked, b.base, err = d.readMark(mp, mark, st.Size); err != nil {
			return leftoverLog{}, err
		}
	}
	b.size += b.base
	b.gaps = d.holes(h, b.base, st.Size, slices.Clone(b.marked))
	f.rest()
	return leftoverLog{log: b, changed: st.Changed}, nil
}

// maxHoles bounds the holes of one file that are examined.
const maxHoles = 1024

// holes adds the holes of a file of size bytes, which begins at base, to the known gaps. An
// unknown hole comes from a crash of the machine or a deleted gap file. The pages beside it
// may be damaged too, so the gap covers them.
func (d *Disk) holes(h *handle, base, size int64, g gaps) gaps {
	for n, off := 0, int64(0); off < size; n++ {
		from, to, err := d.sys.Hole(h.fd, off, size)
		if err != nil || from >= to {
			break
		}
		if n == maxHoles {
			return g.add(base+from, base+size)
		}
		if !g.cover(base+from, base+to) {
			g = g.add(base+max(from-pageSize, 0), base+min(to+pageSize, size))
		}
		off = to
	}
	return g
}

// isThere reports whether a sorted directory has the name.
func isThere(entries []os.DirEntry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e os.DirEntry, name string) int { return cmp.Compare(e.Name(), name) })
	return ok
}

// parseFileName reverses fileName.
func parseFileName(name string) (id string, stream uint8, ok bool) {
	id, rest, _ := strings.Cut(name, ".")
	for _, s := range []uint8{Merged, Stdout, Stderr, orderStream} {
		if rest == streamName(s)+".log" && validID(id) {
			return id, s, true
		}
	}
	return "", 0, false
}

// Reclaim takes over a log that a dead store left in a named file. path and mark are
// File and Mark of its plan. The log can be opened as before, sealed.
func (d *Disk) Reclaim(id string, stream uint8, path, mark string) error {
	plan, err := Plan{File: path, Mark: mark}.resolve()
	if err != nil {
		return err
	}
	p := dirRef{outside: filepath.Dir(path), found: true}
	dir, err := d.openDir(p, false)
	if err != nil {
		return err
	}
	defer dir.free()
	h, err := d.openFile(dir, filepath.Base(path), unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return &os.PathError{Op: "open the log", Path: path, Err: err}
	}
	defer h.free()
	l, err := d.recoverLog(h, p, plan, filepath.Base(path), id, stream)
	if err != nil {
		return err
	}
	d.mu.Lock()
	known := d.jobs[id] != nil
	d.mu.Unlock()
	if known {
		return ErrExists
	}
	for _, j := range d.enroll([]leftoverLog{l}) {
		_ = j.remove()
	}
	return nil
}

// Import takes over a log of a dead store from a descriptor of its bytes, which a reader still
// has. known is the state that the reader saw last. The log can be opened as before, sealed,
// until Persist moves it into a file. Import returns ErrExists if the store has the log.
func (d *Disk) Import(id string, stream uint8, from *os.File, known State) error {
	if !validID(id) || stream > Stderr {
		return ErrNotFound
	}
	plan, err := Plan{Inline: -1}.resolve()
	if err != nil {
		return err
	}
	h, err := d.reopen(from)
	if err != nil {
		return err
	}
	st, err := d.sys.Stat(h.fd)
	if err != nil {
		h.free()
		return err
	}
	b := &sharedLog{disk: d, id: id, stream: stream, group: plan.Group, plan: &plan, size: max(st.Size, known.Size), sealed: true, mem: h}
	b.gaps = d.holes(h, 0, st.Size, importedGaps(st.Size, known))
	b.memoryBytes = min(b.kept(), MaxInlineLimit) // more was in a file that was deleted, and takes no memory
	d.mu.Lock()
	j := d.jobs[id]
	if d.closed || j != nil && (j.elem == nil || j.logs[stream] != nil) {
		d.mu.Unlock()
		h.free()
		return ErrExists
	}
	d.memory.Add(b.memoryBytes)
	d.memfds.Add(1)
	d.mu.Unlock()
	for _, j := range d.enroll([]leftoverLog{{log: b}}) {
		_ = j.remove()
	}
	return nil
}

// reopen returns a descriptor of the store's own for an open file.
func (d *Disk) reopen(f *os.File) (*handle, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if cerr := raw.Control(func(of uintptr) { fd, err = d.sys.Reopen(int(of)) }); cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, err
	}
	return newHandle(d.sys, fd), nil
}

// importedGaps returns the gaps of a log with stored bytes of which a reader knew less or more:
// a part that was elided since then, a fence that was not shown yet, or the rest of a file.
func importedGaps(stored int64, known State) gaps {
	g := gaps(slices.Clone(known.Gaps))
	switch {
	case known.Size > stored:
		return g.add(stored, known.Size)
	case known.Veiled:
		return g.add(known.Size, stored)
	case known.Size < stored && len(g) > 0:
		return g.add(g[0].From, stored)
	}
	return g
}
