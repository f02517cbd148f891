package spill

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Recover takes over the directory of a dead store with the same node, and the
// logs in it: they can be opened as before, sealed, within the bounds of what is
// finished. What was in memory only is gone. It must come before the first
// Create. Without such a directory it does nothing; one whose owner is alive is
// refused.
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
	var found []leftLog
	for _, g := range groups {
		if g.IsDir() {
			logs, err := d.recoverGroup(g.Name())
			if err != nil {
				return err
			}
			found = append(found, logs...)
		}
	}
	slices.SortStableFunc(found, func(a, b leftLog) int { return cmp.Compare(a.changed.UnixNano(), b.changed.UnixNano()) })
	for _, j := range d.enroll(found) {
		_ = j.remove() // a file that stays goes with the node's directory
	}
	return nil
}

// leftLog is a log that a dead store has left.
type leftLog struct {
	body    *body
	changed time.Time
}

// enroll makes finished jobs of the logs, oldest first. It returns what is too much.
func (d *Disk) enroll(found []leftLog) []*job {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range found {
		if l.body.stream == orderStream {
			continue
		}
		j := d.jobs[l.body.id]
		if j == nil {
			j = &job{id: l.body.id}
			d.jobs[j.id] = j
		} else {
			d.unfinish(j)
		}
		l.body.job = j
		j.logs[l.body.stream] = l.body
		d.enlist(j)
	}
	for _, l := range found {
		if l.body.stream == orderStream {
			d.enrollOrder(l.body)
		}
	}
	return d.excess()
}

// enrollOrder gives a job its index back, if that fits its logs. Of a job that ran
// when the store died it may end early.
func (d *Disk) enrollOrder(b *body) {
	j := d.jobs[b.id]
	o := &order{body: b}
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
	d.enlist(j)
}

// recoverGroup opens the logs of one session. What was not whole yet is removed.
func (d *Disk) recoverGroup(group string) ([]leftLog, error) {
	dir, err := d.openDir(place{group: group}, false)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	entries, err := os.ReadDir(d.tree.filePath(place{group: group}, ""))
	if err != nil {
		return nil, err
	}
	var found []leftLog
	for _, e := range entries {
		id, stream, ok := parseFileName(e.Name())
		if !ok {
			if strings.HasSuffix(e.Name(), newSuffix) {
				_ = d.sys.Unlink(dir.fd, e.Name())
			}
			continue
		}
		h, err := d.openFile(dir, e.Name(), unix.O_RDWR|unix.O_NONBLOCK)
		if err != nil {
			continue // not a file of ours
		}
		plan, err := Plan{Group: group}.resolve()
		if err != nil {
			h.free()
			return found, err
		}
		l, err := d.recoverLog(h, place{group: group}, plan, e.Name(), id, stream)
		h.free()
		if err == nil {
			found = append(found, l)
		}
	}
	return found, nil
}

func (d *Disk) recoverLog(h *handle, p place, plan Plan, name, id string, stream uint8) (leftLog, error) {
	st, err := d.sys.Stat(h.fd)
	if err != nil {
		return leftLog{}, err
	}
	if !st.Regular || st.Links != 1 || int(st.UID) != os.Geteuid() {
		return leftLog{}, errGone
	}
	f, err := d.adopt(p, name, h)
	if err != nil {
		return leftLog{}, err
	}
	b := &body{disk: d, id: id, stream: stream, plan: plan, size: st.Size, sealed: true, file: f}
	newWriter(b, nil)
	b.users = 0
	b.gaps = d.holes(h, st)
	f.rest()
	return leftLog{body: b, changed: st.Changed}, nil
}

// holes finds what a quota took out of a file that is not known: what the file
// system does not hold, and the zeros around it, since it is freed by the page.
func (d *Disk) holes(h *handle, st Stat) gaps {
	var g gaps
	if st.Blocks*512 >= st.Size {
		return nil
	}
	for off := int64(0); off < st.Size && len(g) < maxGaps; {
		from, to, err := d.sys.Hole(h.fd, off, st.Size)
		if err != nil || from >= to {
			break
		}
		g = g.add(from-d.zeros(h, from-pageSize, from, false), to+d.zeros(h, to, min(to+pageSize, st.Size), true))
		off = to
	}
	return g
}

// zeros counts the zeros at one end of a part of a file.
func (d *Disk) zeros(h *handle, from, to int64, front bool) int64 {
	p := make([]byte, to-max(from, 0))
	if n, err := d.sys.Pread(h.fd, p, max(from, 0)); err != nil || n < len(p) {
		return 0
	}
	if front {
		return int64(len(p) - len(bytes.TrimLeft(p, "\x00")))
	}
	return int64(len(p) - len(bytes.TrimRight(p, "\x00")))
}

// parseFileName takes back fileName.
func parseFileName(name string) (id string, stream uint8, ok bool) {
	id, rest, _ := strings.Cut(name, ".")
	for _, s := range []uint8{Merged, Stdout, Stderr, orderStream} {
		if rest == streamName(s)+".log" && validID(id) {
			return id, s, true
		}
	}
	return "", 0, false
}

// inherit takes the lock of the node's directory, if there is one, and makes it
// this store's. It returns its path.
func (t *tree) inherit() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.needRoot(); err != nil {
		return "", err
	}
	home, err := t.descend(t.root.fd, t.node, false)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	lock, err := t.takeLock(home.fd)
	if err != nil {
		home.free()
		return "", err
	}
	t.home, t.lock = home, lock
	return filepath.Join(t.path, t.node), nil
}
