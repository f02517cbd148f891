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

// Store keeps the logs of a node, by the ULID of the job.
type Store interface {
	Create(id string, stream uint8, p Plan) (Writer, error)
	// Open gives a reader; the log may be live or sealed. Close it.
	Open(id string, stream uint8) (Log, error)
	// Remove forgets a log and frees its bytes. Open readers stay valid.
	Remove(id string) error
}

// Options says where the logs of a node live and how much they may take.
type Options struct {
	// Root is the directory of all nodes of the user; it is made if it is missing
	// and refused if it is not a directory of ours alone. "": <tmp>/troupe-<uid>,
	// or a private one beside it if somebody else has taken that name.
	Root   string
	Node   string // the ULID of this node: its directory in Root
	Limits Limits
	// Dead is asked by Sweep whether nothing is left of a dead node: else its directory
	// stays for the sweep of a later one. nil: nothing is.
	Dead func(node string) (gone bool)
	// Gone is asked when no file can be made: nothing leads to the place of this store any
	// more, and nobody will make it again. nil: there is hope.
	Gone func() bool
	Sys  Sys // nil: the kernel's
}

// Limits bound a store; a zero field is the default. Memfds and Files are descriptors:
// neither takes more than an eighth of those that the process may have when the store
// is opened, or finished jobs would leave none for others to start with.
type Limits struct {
	Memfds   int   // logs in memory; a log beyond them is a file from its first byte
	Memory   int64 // bytes of them
	Files    int   // descriptors of files kept open
	Finished int   // jobs whose logs are all sealed; the one used least goes first
	Sealed   int64 // bytes of theirs in memory
	Stored   int64 // bytes of theirs on disk
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

// within are the limits where each kind of descriptors may be so many.
func (l Limits) within(most int) Limits {
	l.Memfds, l.Files = min(l.Memfds, most), min(l.Files, most)
	return l
}

// share is an eighth of the descriptors that this process may have.
func share() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur/8, math.MaxInt32))
}

// CloseIdle closes the descriptors of files that can be opened again, for a process that has
// none left, and says whether there were any.
func (d *Disk) CloseIdle() bool { return d.cache.shrink() }

func or[N int | int64](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// Disk is the Store of one node: memory for what is small, files for the rest.
// It makes no file and no directory before a log needs one. It is safe for
// concurrent use.
type Disk struct {
	sys    Sys
	limits atomic.Pointer[Limits]
	dead   func(node string) bool
	isGone func() bool
	tree   nodeDirs
	cache  cache
	most   int // logs in memory and descriptors of files, of each
	spare  sparePool

	memfds atomic.Int64 // logs in memory
	memory atomic.Int64 // bytes of them

	mu       sync.Mutex
	closed   bool
	plan     *Plan // that of the last log, see shared
	jobs     map[string]*job
	finished list.List // of *job, used last first
	sealed   int64     // bytes in memory of finished jobs
	stored   int64     // bytes on disk of finished jobs
}

// job is the logs of one job.
type job struct {
	id     string
	logs   [3]*sharedLog
	order  *order        // of two streams
	times  *arrivalTimes // of one
	open   int           // writers that have not sealed their log
	elem   *list.Element // in Disk.finished, once open is 0
	memory int64         // what it counts for there
	stored int64
}

// OpenStore opens the store of a node. It touches no disk: a directory that
// cannot be used shows when the first log outgrows its memory, or by Dir.
func OpenStore(o Options) (*Disk, error) {
	if !validID(o.Node) {
		return nil, fmt.Errorf("%q is no node id: use up to %d letters, digits, '_' and '-', such as a ULID", o.Node, maxID)
	}
	if o.Root != "" && !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("the directory for outputs is not an absolute path: %q", o.Root)
	}
	d := &Disk{sys: o.Sys, dead: o.Dead, isGone: o.Gone, jobs: make(map[string]*job)}
	if d.sys == nil {
		d.sys = kernel{}
	}
	d.most = share()
	limits := o.Limits.orDefault().within(d.most)
	d.limits.Store(&limits)
	d.tree = nodeDirs{sys: d.sys, given: o.Root, temp: os.TempDir(), node: o.Node}
	d.cache = cache{sys: d.sys, limit: limits.Files}
	d.spare = sparePool{sys: d.sys}
	return d, nil
}

// Check says why the store's root can hold no files, where that is known before
// there are any: a job whose output finds no place would wait for one.
func (d *Disk) Check() error { return d.tree.check() }

// Create makes an empty log, which costs no descriptor and no file, unless the plan
// names one.
func (d *Disk) Create(id string, stream uint8, p Plan) (made Writer, err error) {
	if !validID(id) {
		return nil, fmt.Errorf("%q is no id of a log: use up to %d letters, digits, '_' and '-', such as a ULID", id, maxID)
	}
	if stream > Stderr {
		return nil, fmt.Errorf("there is no stream %d", stream)
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
				_ = given.unlink() // the error that is told is why it is not wanted
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

// shared is a plan without its group, which is mostly that of the log before: all logs of
// a node are planned alike, but for those that have a place of their own. Called with d.mu.
func (d *Disk) shared(p Plan) *Plan {
	p.Group = ""
	if d.plan == nil || *d.plan != p {
		d.plan = new(Plan)
		*d.plan = p
	}
	return d.plan
}

// Open gives a reader of a log, live or sealed.
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

// find is called with d.mu.
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

// Remove forgets the logs of a job and frees their bytes. Readers and a writer
// that are open go on with what is theirs. A file that was kept stays.
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

// forget takes j out of the tables; called with d.mu.
func (d *Disk) forget(j *job) {
	delete(d.jobs, j.id)
	if j.elem != nil {
		d.unfinish(j)
	}
}

// Path is where the file of a log is, "" while it is in memory or unknown.
func (d *Disk) Path(id string, stream uint8) string {
	d.mu.Lock()
	b, err := d.find(id, stream)
	d.mu.Unlock()
	if err != nil {
		return ""
	}
	return b.State().File
}

// Order gives the pieces of a job's separate streams in the order of arrival, with
// their times; of a merged one, whose pieces say that they are stdout's, the times.
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

// Close seals and removes every log, and removes the node's directory. Readers
// that are open go on with what is theirs; what was kept stays.
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
		for _, b := range j.bodies() {
			_ = b.end() // nobody waits for it to be safe
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

// Dir is the node's own directory, for what else belongs to it (a script that
// is too long for an argument): made on the first call, removed by Close.
func (d *Disk) Dir() (string, error) { return d.tree.dir() }

// Root is the directory of all nodes; "" until it is needed.
func (d *Disk) Root() string {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.tree.path
}

// Export gives a log to another process: its state, and what holds its bytes,
// opened anew for reading only; nil while the log has none, or has lost them.
// Offsets are those of the log. When the log moves to a file the former
// descriptor stays as it was: a reader that finds less than State says asks
// again. The caller closes the file.
func (d *Disk) Export(id string, stream uint8) (*os.File, State, error) {
	log, err := d.Open(id, stream)
	if err != nil {
		return nil, State{}, err
	}
	defer log.Close()
	b := log.(*reader).body
	h, f, err := b.acquire()
	if err != nil || h == nil {
		return nil, b.State(), err
	}
	defer h.free()
	if f != nil { // somebody may have cut it
		b.truncated(h, b.extent(false))
	}
	fd, err := d.sys.Reopen(h.fd)
	if exhausted(err) {
		d.cache.shrink()
		fd, err = d.sys.Reopen(h.fd)
	}
	if err != nil {
		return nil, b.State(), err
	}
	return os.NewFile(uintptr(fd), "log"), b.State(), nil
}
