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

// finish counts one writer of j that has sealed. A job whose logs are all sealed is
// finished. Above its limits the store removes finished jobs, the least recently used
// first and never the last one.
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
		_ = j.remove() // on failure the file goes with the node's directory
	}
}

// Limit sets new limits, except for Files. Finished jobs above them are removed at
// once, the least recently used first. The plan of a log bounds its growth.
func (d *Disk) Limit(l Limits) {
	l = l.orDefault().within(d.most)
	d.mu.Lock()
	l.Files = d.limits.Load().Files
	d.limits.Store(&l)
	out := d.excess()
	d.mu.Unlock()
	for _, j := range out {
		_ = j.remove() // as in finish
	}
}

// retain makes j the most recently used finished job. The caller holds d.mu, as for
// weigh, unfinish and excess.
func (d *Disk) retain(j *job) {
	j.memory, j.stored = 0, 0
	d.weigh(j)
	j.elem = d.finished.PushFront(j)
}

// weigh counts the bytes of a finished job again after its logs have moved.
func (d *Disk) weigh(j *job) {
	d.sealed -= j.memory
	d.stored -= j.stored
	j.memory, j.stored = 0, 0
	for _, b := range j.allLogs() {
		memory, stored := b.weight()
		j.memory += memory
		j.stored += stored
	}
	d.sealed += j.memory
	d.stored += j.stored
}

// unfinish takes j out of the finished jobs.
func (d *Disk) unfinish(j *job) {
	d.finished.Remove(j.elem)
	j.elem = nil
	d.sealed -= j.memory
	d.stored -= j.stored
}

// excess takes out and returns the finished jobs above the limits.
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

// allLogs returns the logs of a job and its order index.
func (j *job) allLogs() []*sharedLog {
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

// weight returns how many bytes the log has in memory and on disk.
func (b *sharedLog) weight() (memory, stored int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.file != nil {
		stored = b.size - b.gaps.total()
	}
	return b.memoryBytes, stored
}

// Bounds of the kept files. They outlive their node for a day, since a result names the
// file and a client may read it later.
const (
	KeptFor   = 24 * time.Hour
	KeptCount = 1000
	KeptBytes = 10 << 30
)

// Keep moves the file of a log to a directory that outlives the node, or makes a file
// of a log in memory, and returns its path. The log goes on as before. The file is
// removed KeptFor after its last use, or earlier when newer ones need the room.
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

// FinishedIDs returns the ids of the finished jobs whose logs are kept.
func (d *Disk) FinishedIDs() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for id, j := range d.jobs {
		if j.elem != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Persist moves the logs of a finished job from memory into files, if one is larger
// than above, has gaps or was imported. Readers go on. The caller stores smaller logs
// itself.
func (d *Disk) Persist(id string, above int64) error {
	d.mu.Lock()
	j := d.jobs[id]
	if j == nil || j.elem == nil {
		d.mu.Unlock()
		return ErrNotFound
	}
	allLogs, order := j.allLogs(), j.order
	d.mu.Unlock()
	large := false
	for _, b := range allLogs {
		if b.stream != orderStream {
			st := b.State()
			memory, _ := b.weight()
			large = large || st.Size > above || len(st.Gaps) > 0 || b.inline() < 0 && memory > 0
		}
	}
	if order != nil && !large {
		large = order.encoded() > above
	}
	if !large {
		return nil
	}
	var errs []error
	for _, b := range allLogs {
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

// toFile moves a log from memory into a file, unless it was removed. It closes the
// descriptor, since few finished logs are read; a reader opens the file again.
func (b *sharedLog) toFile() error {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	if b.removed || b.mem == nil {
		return nil
	}
	err := b.spillTo(dirRef{group: b.group})
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
		err = b.spillTo(dirRef{kept: true})
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the output: %w", err)
	}
	return *b.file.path.Load(), nil
}

// keep moves the file to the kept ones. It copies a deleted file from its descriptor.
// The caller holds writerMu of b.
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
	h, err := f.open() // fails unless it is the file of the log, in its place
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

// keptFile is an entry of the directory of kept files.
type keptFile struct {
	name  string
	used  time.Time
	bytes int64
}

// trimKept removes kept files that are too old, and above the bounds the least recently
// used ones, never the most recent one.
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
		_ = d.sys.Unlink(dir.fd, f.name) // the sweep of another node may have removed it
	}
	return nil
}

// excessKept returns the files to remove.
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
			continue // removed meanwhile
		}
		used := max(st.Atim.Nano(), st.Mtim.Nano(), st.Ctim.Nano())
		files = append(files, keptFile{name: e.Name(), used: time.Unix(0, used), bytes: st.Blocks * 512})
	}
	return files, nil
}
