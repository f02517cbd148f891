package spill

import (
	"container/list"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Store keeps the logs of a node. Its ids are the ULIDs of jobs.
type Store interface {
	Create(id string, stream uint8, p Plan) (Writer, error)
	// Open returns a reader of a live or sealed log. The caller closes it.
	Open(id string, stream uint8) (Log, error)
	// Remove removes the logs of a job and frees their bytes. Open readers stay valid.
	Remove(id string) error
}

// Options are the settings of a store.
type Options struct {
	// Root is the directory of all nodes of the user. It is created if it is missing,
	// and rejected if other users can use it. "": <tmp>/troupe-<uid>, or a private
	// directory beside it if another user has that name.
	Root   string
	Node   string // ULID of this node, which names its directory in Root
	Limits Limits
	// Dead reports that nothing is left of a dead node, so that Sweep may remove its
	// directory. If it returns false a later sweep asks again. nil: always true.
	Dead func(node string) (gone bool)
	// Gone is called when no file can be made. It reports that the directory of the
	// store is lost for good. nil: always false.
	Gone func() bool
	Sys  Sys // nil: the operating system's
}

// Limits bound a store; a zero field is the default. Memfds and Files count
// descriptors. Each is at most an eighth of the process's limit when the store is
// opened; otherwise finished jobs would leave none for new ones.
type Limits struct {
	Memfds   int   `cbor:"1,keyasint,omitzero"` // logs in memory; further logs are files from the first byte
	Memory   int64 `cbor:"2,keyasint,omitzero"` // bytes of logs in memory
	Files    int   `cbor:"3,keyasint,omitzero"` // open descriptors of files
	Finished int   `cbor:"4,keyasint,omitzero"` // jobs whose logs are all sealed; the least recently used is removed first
	Sealed   int64 `cbor:"5,keyasint,omitzero"` // bytes of finished jobs in memory
	Stored   int64 `cbor:"6,keyasint,omitzero"` // bytes of finished jobs on disk
}

// The defaults.
const (
	DefaultMemfds   = 4096
	DefaultMemory   = 64 << 20
	DefaultFiles    = 512
	DefaultFinished = 1000
	DefaultSealed   = 64 << 20
	DefaultStored   = 10 << 30
)

func (l Limits) orDefault() Limits {
	return Limits{
		Memfds:   or(l.Memfds, DefaultMemfds),
		Memory:   or(l.Memory, DefaultMemory),
		Files:    or(l.Files, DefaultFiles),
		Finished: or(l.Finished, DefaultFinished),
		Sealed:   or(l.Sealed, DefaultSealed),
		Stored:   or(l.Stored, DefaultStored),
	}
}

// within returns the limits, bounded to most descriptors of each kind.
func (l Limits) within(most int) Limits {
	l.Memfds, l.Files = min(l.Memfds, most), min(l.Files, most)
	return l
}

// share returns an eighth of the process's limit of descriptors.
func share() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur/8, math.MaxInt32))
}

// CloseIdle closes the descriptors of files that can be opened again, and reports
// whether there were any. It is for a process that has run out of descriptors.
func (d *Disk) CloseIdle() bool { return d.cache.shrink() }

func or[N int | int64](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// Disk is the Store of one node. It makes no file and no directory before a log needs
// one. It is safe for concurrent use.
type Disk struct {
	sys    Sys
	limits atomic.Pointer[Limits]
	dead   func(node string) bool
	isGone func() bool
	tree   nodeDirs
	cache  cache
	most   int // upper bound of Limits.Memfds and Limits.Files
	spare  sparePool

	memfds atomic.Int64 // logs in memory
	memory atomic.Int64 // bytes of logs in memory

	unchecked atomic.Int64 // bytes written since the last look at the free space

	mu       sync.Mutex
	closed   bool
	plan     *Plan // plan of the newest log; see shared
	jobs     map[string]*job
	finished list.List // of *job, most recently used first
	sealed   int64     // bytes in memory of finished jobs
	stored   int64     // bytes on disk of finished jobs
}

// job is the logs of one job.
type job struct {
	id     string
	logs   [3]*sharedLog
	order  *order        // nil for a merged stream
	times  *arrivalTimes // nil for separate streams
	open   int           // logs that are not sealed
	elem   *list.Element // in Disk.finished; nil unless the job is finished
	memory int64         // share of Disk.sealed
	stored int64         // share of Disk.stored
}

// OpenStore opens the store of a node without touching the disk. If a directory cannot
// be used, Dir or the first log that needs a file reports it.
func OpenStore(o Options) (*Disk, error) {
	if !validID(o.Node) {
		return nil, fmt.Errorf("invalid node id %q: use up to %d letters, digits, '_' and '-', such as a ULID", o.Node, maxID)
	}
	if o.Root != "" && !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("the output directory %q is not an absolute path", o.Root)
	}
	d := &Disk{sys: o.Sys, dead: o.Dead, isGone: o.Gone, jobs: make(map[string]*job)}
	if d.sys == nil {
		d.sys = kernelSys{}
	}
	d.most = share()
	limits := o.Limits.orDefault().within(d.most)
	d.limits.Store(&limits)
	d.tree = nodeDirs{sys: d.sys, given: o.Root, temp: os.TempDir(), node: o.Node}
	d.cache = cache{sys: d.sys, limit: limits.Files}
	d.spare = sparePool{sys: d.sys}
	return d, nil
}

// Check returns why the root cannot hold files, if that is already known. Without it, a
// job would wait for a place for its output.
func (d *Disk) Check() error { return d.tree.check() }

// Create makes an empty log. It uses no descriptor and no file unless the plan names a
// file.
func (d *Disk) Create(id string, stream uint8, p Plan) (made Writer, err error) {
	if !validID(id) {
		return nil, fmt.Errorf("invalid log id %q: use up to %d letters, digits, '_' and '-', such as a ULID", id, maxID)
	}
	if stream > Stderr {
		return nil, fmt.Errorf("unknown stream %d", stream)
	}
	if p, err = p.resolve(); err != nil {
		return nil, err
	}
	var given *file
	if p.File != "" {
		if given, err = d.claim(p.File); err != nil {
			return nil, err
		}
		defer func() {
			if made == nil {
				_ = given.unlink() // Create returns the error that came first
				d.cache.drop(&given.slot)
			}
		}()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	j := d.jobs[id]
	switch {
	case j == nil:
		j = &job{id: id}
		d.jobs[id] = j
	case j.logs[stream] != nil:
		return nil, ErrExists
	case j.elem != nil:
		d.unfinish(j)
	}
	b := &sharedLog{disk: d, job: j, id: id, stream: stream, group: p.Group, plan: d.shared(p), file: given}
	j.logs[stream] = b
	j.open++
	if stream != Merged && j.order == nil {
		j.order = newOrder(d, id, p.Group)
	}
	w := newWriter(b, j.order)
	if stream == Merged {
		j.times = &arrivalTimes{}
		w.times = j.times
	}
	return w, nil
}

// shared returns p without its group, as the plan of the log before if both are equal:
// most logs of a node have equal plans. The caller holds d.mu.
func (d *Disk) shared(p Plan) *Plan {
	p.Group = ""
	if d.plan == nil || *d.plan != p {
		d.plan = new(Plan)
		*d.plan = p
	}
	return d.plan
}

// Open returns a reader of a live or sealed log.
func (d *Disk) Open(id string, stream uint8) (Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.find(id, stream)
	if err != nil {
		return nil, err
	}
	if b.job.elem != nil {
		d.finished.MoveToFront(b.job.elem)
	}
	return b.reader(), nil
}

// find returns a log. The caller holds d.mu.
func (d *Disk) find(id string, stream uint8) (*sharedLog, error) {
	if d.closed {
		return nil, ErrClosed
	}
	j := d.jobs[id]
	if j == nil || int(stream) >= len(j.logs) || j.logs[stream] == nil {
		return nil, ErrNotFound
	}
	return j.logs[stream], nil
}

// Remove removes the logs of a job and frees their bytes. Open readers and writers go
// on. A kept file stays.
func (d *Disk) Remove(id string) error {
	d.mu.Lock()
	j := d.jobs[id]
	if j == nil {
		d.mu.Unlock()
		return ErrNotFound
	}
	d.forget(j)
	d.mu.Unlock()
	return j.remove()
}

// forget takes j out of the tables. The caller holds d.mu.
func (d *Disk) forget(j *job) {
	delete(d.jobs, j.id)
	if j.elem != nil {
		d.unfinish(j)
	}
}

// Path returns the path of a log's file, "" if the log is in memory or unknown.
func (d *Disk) Path(id string, stream uint8) string {
	d.mu.Lock()
	b, err := d.find(id, stream)
	d.mu.Unlock()
	if err != nil {
		return ""
	}
	return b.State().File
}

// Order returns the segments of a job's separate streams in the order of arrival. For a
// merged stream it returns the arrival times as segments of Stdout.
func (d *Disk) Order(id string) (*Order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobs[id]
	switch {
	case d.closed || j == nil:
	case j.order != nil:
		return j.order.snapshot(), nil
	case j.times != nil:
		return j.times.snapshot(), nil
	}
	return nil, ErrNotFound
}

// Close seals and removes every log, and removes the node's directory. Open readers go
// on. Kept files stay.
func (d *Disk) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	jobs := d.jobs
	d.jobs = nil
	d.finished.Init()
	d.mu.Unlock()
	var errs []error
	for _, j := range jobs {
		errs = append(errs, j.remove())
		for _, b := range j.allLogs() {
			_ = b.end() // the log is removed: its sync may fail
		}
	}
	d.spare.close()
	errs = append(errs, d.tree.close())
	return errors.Join(errs...)
}

func (j *job) remove() error {
	var errs []error
	for _, b := range j.logs {
		if b != nil {
			errs = append(errs, b.remove())
		}
	}
	if j.order != nil {
		errs = append(errs, j.order.remove())
	}
	return errors.Join(errs...)
}

// Dir returns the node's own directory, for other files of the node such as a long
// script. The first call makes it, Close removes it.
func (d *Disk) Dir() (string, error) { return d.tree.dir() }

// Root returns the directory of all nodes, "" until it is needed.
func (d *Disk) Root() string {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.tree.path
}

// Export returns the state of a log and a new read-only descriptor of its bytes, for
// another process. The file is nil while the log is empty, or if its file is lost. Its
// offsets are those of the log without State.Base. After a move to a file the old descriptor stays as it
// was. A reader that finds fewer bytes than State says asks again. The caller closes
// the file.
func (d *Disk) Export(id string, stream uint8) (*os.File, State, error) {
	log, err := d.Open(id, stream)
	if err != nil {
		return nil, State{}, err
	}
	defer log.Close()
	b := log.(*reader).log
	for {
		h, f, base, err := b.acquireFrom()
		if err != nil || h == nil {
			return nil, b.State(), err
		}
		if f != nil { // another program may have truncated it
			b.truncated(h, b.extent(false))
		}
		fd, err := d.sys.Reopen(h.fd)
		if exhausted(err) {
			d.cache.shrink()
			fd, err = d.sys.Reopen(h.fd)
		}
		h.free()
		if err != nil {
			return nil, b.State(), err
		}
		out := os.NewFile(uintptr(fd), "log")
		if st := b.State(); f == nil || st.Base == base {
			return out, st, nil
		}
		_ = out.Close() // the log goes on in another file
	}
}
