package spill

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// finish counts one writer of j that has sealed. A job whose logs are all
// sealed is finished: the store may forget it, the one used least first and
// never the last one, when there are too many.
func (d *Disk) finish(j *job) {
	d.mu.Lock()
	j.open--
	var out []*job
	if j.open == 0 && d.jobs[j.id] == j {
		d.retain(j)
		out = d.excess()
	}
	d.mu.Unlock()
	for _, j := range out {
		_ = j.remove() // a file that stays goes with the node's directory
	}
}

// Limit sets other bounds, but for Files. Finished jobs above them go at once, the
// one used least first; a log that grows is bounded by its own plan.
func (d *Disk) Limit(l Limits) {
	l = l.orDefault().within(d.most)
	d.mu.Lock()
	l.Files = d.limits.Load().Files
	d.limits.Store(&l)
	out := d.excess()
	d.mu.Unlock()
	for _, j := range out {
		_ = j.remove() // a file that stays goes with the node's directory
	}
}

// retain and unfinish are called with d.mu.
func (d *Disk) retain(j *job) {
	j.memory, j.stored = 0, 0
	d.weigh(j)
	j.elem = d.finished.PushFront(j)
}

// weigh counts a job anew whose logs have moved.
func (d *Disk) weigh(j *job) {
	d.sealed -= j.memory
	d.stored -= j.stored
	j.memory, j.stored = 0, 0
	for _, b := range j.bodies() {
		memory, stored := b.weight()
		j.memory += memory
		j.stored += stored
	}
	d.sealed += j.memory
	d.stored += j.stored
}

func (d *Disk) unfinish(j *job) {
	d.finished.Remove(j.elem)
	j.elem = nil
	d.sealed -= j.memory
	d.stored -= j.stored
}

// excess takes out what is too much.
func (d *Disk) excess() []*job {
	var out []*job
	limits := d.limits.Load()
	for d.finished.Len() > 1 && (d.finished.Len() > limits.Finished ||
		d.sealed > limits.Sealed || d.stored > limits.Stored) {
		j := d.finished.Back().Value.(*job)
		d.forget(j)
		out = append(out, j)
	}
	return out
}

// bodies are the logs of a job and its index.
func (j *job) bodies() []*sharedLog {
	var out []*sharedLog
	for _, b := range j.logs {
		if b != nil {
			out = append(out, b)
		}
	}
	if j.order != nil {
		out = append(out, j.order.sharedLog)
	}
	return out
}

// weight is how many bytes the log holds, in memory and on disk.
func (b *sharedLog) weight() (memory, stored int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.file != nil {
		stored = b.size - b.gaps.total()
	}
	return b.memoryBytes, stored
}

// What is kept outlives its node for a day: a result names the file, and a client may read
// it later. It is bounded, since most clients never do.
const (
	KeptFor   = 24 * time.Hour
	KeptCount = 1000
	KeptBytes = 10 << 30
)

// Keep moves the file of a log to where it outlives the node, or makes one of
// what is in memory, and returns its path. The log goes on as before. The file
// lives for KeptFor after its last use, or until newer ones need the room.
func (d *Disk) Keep(id string, stream uint8) (string, error) {
	d.mu.Lock()
	b, err := d.find(id, stream)
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	path, err := b.keep()
	if err != nil {
		return "", err
	}
	return path, d.trimKept()
}

// Persist makes files of what a finished job has in memory, if one of its logs is
// larger than above, or has gaps; its readers go on. Smaller ones, whose bytes are all
// there is to know of them, are somebody else's to keep.
func (d *Disk) Persist(id string, above int64) error {
	d.mu.Lock()
	j := d.jobs[id]
	if j == nil || j.elem == nil {
		d.mu.Unlock()
		return ErrNotFound
	}
	bodies, order := j.bodies(), j.order
	d.mu.Unlock()
	large := false
	for _, b := range bodies {
		if b.stream != orderStream {
			st := b.State()
			large = large || st.Size > above || len(st.Gaps) > 0
		}
	}
	if order != nil && !large {
		large = order.encoded() > above
	}
	if !large {
		return nil
	}
	var errs []error
	for _, b := range bodies {
		if b.stream != orderStream {
			errs = append(errs, b.toFile())
		}
	}
	if order != nil {
		errs = append(errs, order.store())
	}
	d.mu.Lock()
	var out []*job
	if d.jobs[id] == j && j.elem != nil {
		d.weigh(j)
		out = d.excess()
	}
	d.mu.Unlock()
	for _, o := range out {
		errs = append(errs, o.remove())
	}
	return errors.Join(errs...)
}

// toFile makes a file of a log that is in memory, unless it was removed. It has no
// descriptor: most that are finished nobody reads, and whoever does opens it again.
func (b *sharedLog) toFile() error {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	if b.removed || b.mem == nil {
		return nil
	}
	err := b.moveOut(dirRef{group: b.group})
	if err == nil {
		b.file.rest()
	}
	return err
}

func (b *sharedLog) keep() (string, error) {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	var err error
	switch {
	case b.removed:
		return "", ErrNotFound
	case b.file != nil:
		err = b.file.keep(b)
	default:
		err = b.moveOut(dirRef{kept: true})
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the output: %w", err)
	}
	return *b.file.path.Load(), nil
}

// keep moves the file; one that was deleted beneath us is copied from its
// descriptor. Called with the turn of b.
func (f *file) keep(b *sharedLog) error {
	old, name := f.where()
	if old.kept || old.outside != "" {
		return nil
	}
	to := dirRef{kept: true}
	err := f.rename(old, to, name)
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, errGone) {
		return err
	}
	h, err := f.open()
	if err != nil {
		return err
	}
	defer h.free()
	made, err := f.disk.create(to, name, false, func(dst *handle) error { return b.copyTo(dst, h, 0, b.size) })
	if err != nil {
		return err
	}
	f.become(made)
	return nil
}

func (f *file) rename(from, to dirRef, name string) error {
	h, err := f.open() // it is ours, and where we think it is
	if err != nil {
		return err
	}
	defer h.free()
	st, err := f.disk.sys.Stat(h.fd)
	if err != nil {
		return err
	}
	if st.Links == 0 {
		return errGone
	}
	src, err := f.disk.openDir(from, false)
	if err != nil {
		return err
	}
	defer src.free()
	dst, err := f.disk.openDir(to, true)
	if err != nil {
		return err
	}
	defer dst.free()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.disk.sys.Rename(src.fd, name, dst.fd, name); err != nil {
		return err
	}
	f.settle(to, name, st)
	return nil
}

// keptFile is one entry of the directory of kept files.
type keptFile struct {
	name  string
	used  time.Time
	bytes int64
}

// trimKept removes kept files that are past their time, and the ones used least
// while there are too many; never the one used last.
func (d *Disk) trimKept() error {
	dir, err := d.tree.open(dirRef{kept: true}, false)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.free()
	files, err := listKept(dir, d.tree.filePath(dirRef{kept: true}, ""))
	if err != nil {
		return err
	}
	for _, f := range excessKept(files, time.Now()) {
		_ = d.sys.Unlink(dir.fd, f.name) // another node's sweep may have been first
	}
	return nil
}

// excessKept are the files that go.
func excessKept(files []keptFile, now time.Time) []keptFile {
	slices.SortFunc(files, func(a, b keptFile) int { return b.used.Compare(a.used) })
	var out []keptFile
	count, total := 0, int64(0)
	for _, f := range files {
		age := now.Sub(f.used)
		if strings.HasSuffix(f.name, newSuffix) {
			if age > leftover {
				out = append(out, f)
			}
			continue
		}
		if age > KeptFor || count > 0 && (count >= KeptCount || total+f.bytes > KeptBytes) {
			out = append(out, f)
			continue
		}
		count++
		total += f.bytes
	}
	return out
}

func listKept(dir *handle, path string) ([]keptFile, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []keptFile
	for _, e := range entries {
		var st unix.Stat_t
		if err := unix.Fstatat(dir.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			continue // gone
		}
		used := max(st.Atim.Nano(), st.Mtim.Nano(), st.Ctim.Nano())
		files = append(files, keptFile{name: e.Name(), used: time.Unix(0, used), bytes: st.Blocks * 512})
	}
	return files, nil
}
