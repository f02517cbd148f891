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
	// journalReserve is how many bytes are allocated for the journal in advance, so that an
	// exit can be recorded when the disk is full.
	journalReserve = 2 * journalLow
	// journalLow is the rest of them at which no more jobs start, so that running jobs can
	// be recorded. From this size the journal is rewritten, if at most a quarter of it is live.
	journalLow = 4 << 20
	// onlyJobLow is the journalLow of the keeper of a single job, which has few records.
	onlyJobLow = 16 << 10
	// syncDelay collects writes for one sync.
	syncDelay = 50 * time.Millisecond
	// staleAgain is the pause between attempts to rewrite a stale journal.
	staleAgain = time.Second
	// maxBacklog bounds the bytes that wait for a full disk.
	maxBacklog = 1 << 20
)

// journal is the append-only file that outlives the keeper. An append is a write(2);
// fdatasync follows later.
type journal struct {
	dir    *os.File // of the file
	fault  func(error)
	low    int64  // journalLow, or onlyJobLow
	last   bool   // no keeper follows: reserved space is freed at the end
	damage string // what was damaged when the journal was opened; "": nothing

	mu      sync.Mutex
	file    *os.File
	size    int64 // valid bytes
	room    int64 // bytes allocated on disk
	table   *journalTable
	live    int64  // about the size of the records that count
	backlog []byte // bytes that the disk refused
	failed  bool
	stale   bool // records are missing in the file: it must be rewritten
	dirty   bool

	syncing sync.Mutex // one at a time
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

// errOtherJournal is a journal that another version of troupe has written.
var errOtherJournal = refused(messages.Unsupported, "journal", "", "")

// otherJournal names the journal of another version, which stays as it is: its jobs may run.
func otherJournal(dir *os.File) *messages.Error {
	return refused(messages.Unsupported, "journal", filepath.Join(dir.Name(), journalName)+" cannot be read: "+errOtherFormat.Error(),
		"end its jobs with troupe shutdown --stop-jobs; if its keeper has died, start a daemon of that version first, or move the file away if none of its jobs runs")
}

// openJournal reads the journal of a directory, skips damaged records, cuts a torn tail and
// appends after it. It refuses the journal of another version. alone says that it is for a
// single job. The caller holds the lease.
func openJournal(dir *os.File, alone bool, fault func(error)) (*journal, error) {
	j := &journal{
		dir: dir, fault: fault, low: journalLow, last: alone,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if alone {
		j.low = onlyJobLow
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
	entries, good, damaged, err := readRecords(text)
	if err != nil {
		_ = j.file.Close()
		return nil, otherJournal(dir)
	}
	j.table = tableOf(entries)
	if len(damaged) > 0 {
		j.damage = damageText(damaged)
	}
	if good < len(text) {
		err = j.file.Truncate(int64(good))
		if j.damage == "" {
			j.damage = fmt.Sprintf("the last %d bytes of the keeper's journal are torn or damaged, and were cut off", len(text)-good)
		}
	}
	if j.damage != "" {
		fault(errors.New(j.damage))
	}
	if err == nil && len(text) == 0 { // the name must be on disk, too
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

// past returns a copy of the table as it was when the journal was opened.
func (j *journal) past() *journalTable {
	j.mu.Lock()
	defer j.mu.Unlock()
	return tableOf(j.table.entries())
}

// limits returns the last limits of the logs; nil: none.
func (j *journal) limits() *spill.Limits {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.table.limits
}

// append writes an entry. What the disk refuses is kept and retried.
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

// write writes the backlog. The caller holds mu.
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
		if len(j.backlog) > maxBacklog { // the table has all live records
			j.fault(errors.New("the disk accepts no journal records: the keeper rewrites its journal when there is room"))
			j.backlog, j.stale = nil, true
		}
	}
	j.dirty = true
	j.rouse()
}

// rouse wakes the loop.
func (j *journal) rouse() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// full returns why no job may start now; nil: it may.
func (j *journal) full() *messages.Error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.failed && j.room-j.size >= j.low {
		return nil
	}
	return refused(messages.ResourceExhausted, "journal", "the disk of the keeper's journal is full: a new job could not be recorded", "free some space, then try again")
}

// reserve allocates room after the end. The caller holds mu, or is the only user.
func (j *journal) reserve() {
	if j.room-j.size >= j.low+j.low/2 {
		return
	}
	reserve := 2 * j.low
	err := withFd(j.file, func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, j.size+reserve)
	})
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		j.room = j.size + reserve // without support, starts must not be refused
	}
}

// DiskNeeded returns how many bytes on disk a keeper needs before it starts jobs,
// beyond those of its journal.
func DiskNeeded(dir string) int64 {
	var st unix.Stat_t
	if unix.Stat(filepath.Join(dir, journalName), &st) != nil {
		return journalReserve
	}
	const block = 512 // the unit of st_blocks
	return max(0, st.Size+journalReserve-st.Blocks*block)
}

// loop syncs writes after a delay, and reserves room.
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

// sync returns when all earlier appends are on disk.
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
		j.dirty = true // it is not on disk
		j.mu.Unlock()
	}
	return err
}

// compactIfDue rewrites the journal if little of it is live, or it is stale. It reports
// whether to retry.
func (j *journal) compactIfDue() (again bool) {
	j.mu.Lock()
	due, stale := j.size >= j.low && j.size >= 4*j.live, j.stale
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

// compact writes the live records to a new file, which replaces the old one when it is
// on disk.
func (j *journal) compact() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = j.size // after a failure there is no immediate retry
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

// close syncs and closes the file, and rewrites a damaged one. Reserved space stays for the
// next keeper, which may start on a full disk, unless there is none.
func (j *journal) close() error {
	close(j.stop)
	<-j.done
	j.mu.Lock()
	if len(j.backlog) > 0 {
		j.write()
	}
	left := j.stale || len(j.backlog) > 0 || j.damage != ""
	j.mu.Unlock()
	if left {
		if err := j.compact(); err != nil {
			j.fault(fmt.Errorf("the keeper's journal cannot be rewritten, and may lack its last records: %w", err))
		}
	}
	err := j.sync()
	if err == nil && j.last {
		err = giveBack(j.file, j.size)
	}
	return errors.Join(err, j.file.Close())
}

// giveBack frees the space reserved after the end of a journal.
func giveBack(f *os.File, size int64) error {
	return withFd(f, func(fd int) error { return unix.Ftruncate(fd, size) })
}
