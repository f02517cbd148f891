package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
	"troupe/spill"
)

const (
	// journalReserve is room on the disk that is the journal's before it needs it,
	// so that an exit can be recorded when the disk is full.
	journalReserve = 8 << 20
	// journalLow is how much of it is left when no more is started, so that what
	// runs can end in it.
	journalLow = 4 << 20
	// syncDelay gathers what is synced at once.
	syncDelay = 50 * time.Millisecond
	// compactFrom is the size from which the journal is written anew, if at most a
	// quarter of it still counts.
	compactFrom = 4 << 20
	// staleAgain is how long a journal that must be written anew waits for the disk.
	staleAgain = time.Second
	// maxBacklog bounds what waits for a disk that takes nothing at all.
	maxBacklog = 1 << 20
)

// journal is the append-only file that outlives the keeper. An append is a
// write(2); fdatasync follows behind.
type journal struct {
	dir   *os.File // of the file
	fault func(error)
	last  bool // no other keeper goes on with it: its room is given back at the end

	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is good
	room    int64 // allocated on disk
	table   *journalTable
	live    int64  // about as many bytes of it count
	backlog []byte // what the disk did not take
	failed  bool
	stale   bool // records are missing in the file: the table is written anew
	dirty   bool

	syncing sync.Mutex // one at a time
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

// openJournal reads the journal of a directory, drops a torn tail, and goes on
// behind it. The caller holds the lease.
func openJournal(dir *os.File, fault func(error)) (*journal, error) {
	j := &journal{
		dir: dir, fault: fault, table: newLedger(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	var err error
	if j.file, err = openIn(dir, journalName, unix.O_RDWR|unix.O_CREAT); err != nil {
		return nil, fmt.Errorf("the keeper's journal cannot be opened: %w", err)
	}
	text, err := io.ReadAll(io.NewSectionReader(j.file, 0, 1<<40))
	if err != nil {
		_ = j.file.Close()
		return nil, fmt.Errorf("the keeper's journal cannot be read: %w", err)
	}
	entries, good := readRecords(text)
	for _, e := range entries {
		j.table.note(e)
	}
	if good < len(text) {
		fault(fmt.Errorf("the last %d bytes of the keeper's journal are torn or damaged, and were cut off", len(text)-good))
		err = j.file.Truncate(int64(good))
	}
	if err == nil && len(text) == 0 { // its name must be safe, too
		err = withFd(dir, unix.Fsync)
	}
	if err != nil {
		_ = j.file.Close()
		return nil, fmt.Errorf("the torn end of the keeper's journal cannot be cut off: %w", err)
	}
	j.size = int64(good)
	j.reserve()
	go j.loop()
	return j, nil
}

// past is the table as it was when the journal was opened: the caller's.
func (j *journal) past() *journalTable {
	j.mu.Lock()
	defer j.mu.Unlock()
	old := newLedger()
	for _, e := range j.table.entries() {
		old.note(e)
	}
	return old
}

// limits are those of the logs that were set last; nil: none were.
func (j *journal) limits() *spill.Limits {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.table.limits
}

// append writes an entry. What the disk refuses is kept and tried again.
func (j *journal) append(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.table.note(e)
	if j.stale {
		j.rouse()
		return
	}
	text, err := appendRecord(j.backlog, e)
	if err != nil {
		j.fault(err)
		return
	}
	j.backlog = text
	j.write()
}

// write writes the backlog. Called with mu.
func (j *journal) write() {
	n, err := j.file.WriteAt(j.backlog, j.size)
	if err == nil {
		j.size += int64(n)
		j.backlog, j.failed = j.backlog[:0], false
	} else {
		if !j.failed {
			j.fault(fmt.Errorf("the keeper's journal cannot grow: %w", err))
		}
		j.failed = true
		if len(j.backlog) > maxBacklog { // all that counts is in the table
			j.fault(errors.New("the disk has taken no records of the keeper's journal for long: all of it is written anew when it does"))
			j.backlog, j.stale = nil, true
		}
	}
	j.dirty = true
	j.rouse()
}

// rouse has the loop look at what is to be done.
func (j *journal) rouse() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// full says why nothing may be started now, or nil.
func (j *journal) full() *messages.Error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.failed && j.room-j.size >= journalLow {
		return nil
	}
	return refused(messages.ResourceExhausted, "journal", "the disk of the keeper's journal is full: what is started now could not be recorded", "free some space, then try again")
}

// reserve allocates room ahead of the end. Called with mu, or alone.
func (j *journal) reserve() {
	if j.room-j.size >= journalReserve/2+journalLow/2 {
		return
	}
	err := withFd(j.file, func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, j.size+journalReserve)
	})
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		j.room = j.size + journalReserve // where nothing can be reserved, nothing is lost by trying
	}
}

// DiskNeeded is how much room on the disk a keeper of a directory asks for before it starts
// anything, beyond what its journal has already.
func DiskNeeded(dir string) int64 {
	var st unix.Stat_t
	if unix.Stat(filepath.Join(dir, journalName), &st) != nil {
		return journalReserve
	}
	const block = 512 // of a stat, whatever those of the file system are
	return max(0, st.Size+journalReserve-st.Blocks*block)
}

// loop syncs what was written, a while later, and looks after the room.
func (j *journal) loop() {
	defer close(j.done)
	again := false
	for {
		select {
		case <-j.wake:
		case <-j.stop:
			return
		}
		delay := syncDelay
		if again {
			delay = staleAgain
		}
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-j.stop:
			t.Stop()
			return
		}
		if err := j.sync(); err != nil {
			j.fault(fmt.Errorf("the keeper's journal cannot be synced: %w", err))
		}
		j.mu.Lock()
		j.reserve()
		if len(j.backlog) > 0 {
			j.write() // it wakes this loop again
		}
		j.mu.Unlock()
		again = j.compactIfDue()
	}
}

// sync returns when everything that was appended before is on disk.
func (j *journal) sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	file, dirty := j.file, j.dirty
	j.dirty = false
	j.mu.Unlock()
	if !dirty {
		return nil
	}
	err := withFd(file, unix.Fdatasync)
	if err != nil {
		j.mu.Lock()
		j.dirty = true // nobody may take it for safe
		j.mu.Unlock()
	}
	return err
}

// compactIfDue writes the journal anew when little of it counts, or something is
// missing in it. It reports whether that is to be tried again.
func (j *journal) compactIfDue() (again bool) {
	j.mu.Lock()
	due, stale := j.size >= compactFrom && j.size >= 4*j.live, j.stale
	j.mu.Unlock()
	if !due && !stale {
		return false
	}
	err := j.compact()
	if err == nil {
		return false
	}
	if !stale {
		j.fault(fmt.Errorf("the keeper's journal cannot be compacted: %w", err))
		return false
	}
	j.rouse()
	return true
}

// compact writes what counts to a new file, which takes the place of the old one
// when it is whole and on disk.
func (j *journal) compact() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = j.size // if it fails it is not tried again at once
	var text []byte
	for _, e := range j.table.entries() {
		var err error
		if text, err = appendRecord(text, e); err != nil {
			return err
		}
	}
	const fresh = journalName + ".new"
	err := withFd(j.dir, func(fd int) error {
		if err := unix.Unlinkat(fd, fresh, 0); err != nil && err != unix.ENOENT {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	f, err := openIn(j.dir, fresh, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(text, 0); err == nil {
		err = withFd(f, unix.Fdatasync)
	}
	if err == nil {
		err = withFd(j.dir, func(fd int) error { return unix.Renameat(fd, fresh, fd, journalName) })
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	_ = j.file.Close()
	j.file, j.size, j.room, j.live = f, int64(len(text)), 0, int64(len(text))
	j.backlog, j.failed, j.stale = nil, false, false // the table has it
	j.reserve()
	return withFd(j.dir, unix.Fsync)
}

// close syncs and closes the file. What was reserved stays for the next keeper, who may
// begin on a full disk, if there is to be one.
func (j *journal) close() error {
	close(j.stop)
	<-j.done
	j.mu.Lock()
	if len(j.backlog) > 0 {
		j.write()
	}
	left := j.stale || len(j.backlog) > 0
	j.mu.Unlock()
	if left {
		if err := j.compact(); err != nil {
			j.fault(fmt.Errorf("the keeper's journal lost its last records: %w", err))
		}
	}
	err := j.sync()
	if err == nil && j.last {
		err = giveBack(j.file, j.size)
	}
	return errors.Join(err, j.file.Close())
}

// giveBack frees what is reserved behind the end of a journal.
func giveBack(f *os.File, size int64) error {
	return withFd(f, func(fd int) error { return unix.Ftruncate(fd, size) })
}
