package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"troupe/messages"
)

// Bolt is a durable journal: one bbolt file that survives SIGKILL at any instant. A
// loss of power loses nothing that was acknowledged. Writes that arrive during a commit
// share the next one. Reads and writes wait for the disk.
type Bolt struct {
	path   string
	keep   Retention
	forgot func(jobs []messages.UID)

	swap sync.RWMutex // held by readers; the writer, which alone exchanges db and file, reads them without it
	db   *bbolt.DB
	file *os.File // file of db, which closes it

	compacting  sync.Mutex // a compaction or Close is in progress
	compactFrom int64      // least size of a file that is compacted
	sparseFrom  int64      // the same, above it after a failure
	interrupt   func(step string) error

	mu      sync.Mutex
	queue   []*pendingBatch // blocked callers that wait for the next commit
	writing bool
	closed  bool
	broken  error // fault of the open file: it is not used again
	stuck   bool  // bbolt panicked and may hold its locks
	failing error // error of the newest write; nil: it succeeded
	stats   Stats
}

// BoltOptions configure a Bolt. The zero value means the defaults.
type BoltOptions struct {
	Retention Retention
	Timeout   time.Duration // wait for another process to release the file; 0: DefaultLockTimeout

	// Forgot receives the jobs whose records Retention removed, after the commit.
	// Removed jobs are not included. OpenBolt and writers call it and wait for it, so
	// it must not write.
	Forgot func(jobs []messages.UID)

	// CompactFrom is the least size of a file that is compacted when more than half of it is
	// free; 0: DefaultCompactFrom.
	CompactFrom int64

	// NoSync leaves the write-back to the kernel. A kill loses nothing then, but a loss
	// of power may destroy the journal: for measurements.
	NoSync bool

	interrupt func(step string) error // at the steps of a compaction; nil outside of tests
}

// DefaultLockTimeout bounds the wait for an ending daemon to release its journal. It is
// longer than a commit on a slow disk.
const DefaultLockTimeout = 2 * time.Second

// growth is the step by which a large file grows, in bytes; small ones double.
const growth = 4 << 20

// Stats counts what a Bolt has done since it was opened.
type Stats struct {
	Commits uint64 // syncs to the disk
	Writes  uint64 // calls served by them
	Facts   uint64 // facts recorded
	Trimmed uint64 // facts removed by Retention

	Compactions uint64 // of the file, also by OpenBolt
}

// OpenBolt opens the journal at path, or creates it with its directory. It leaves an
// untrustworthy file unchanged and returns ErrDamaged, ErrForeign, ErrNewer or
// ErrUnsafe with a hint. If another process has the file open, it returns ErrInUse.
func OpenBolt(path string, o BoltOptions) (*Bolt, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultLockTimeout
	}
	if err := prepare(path, o.Timeout); err != nil {
		return nil, err
	}
	if err := verifyOrMigrate(path, o.Timeout); err != nil {
		return nil, err
	}
	db, file, err := openFile(path, openFlags, bbolt.Options{Timeout: o.Timeout, NoSync: o.NoSync})
	if err != nil {
		return nil, err
	}
	b := &Bolt{path: path, keep: o.Retention.withDefaults(), forgot: o.Forgot, db: db, file: file, interrupt: o.interrupt}
	b.compactFrom = cmp.Or(o.CompactFrom, DefaultCompactFrom)
	b.sparseFrom = b.compactFrom
	if b.Write(Batch{opened: true}) != nil { // the last origin goes on
		err = b.Append(nil) // apply Retention to what has become too old
	}
	if err == nil {
		err = b.shrink(math.MaxUint64)
	}
	if err != nil && !full(err) { // a full disk must not prevent reading: it is tried later
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// full reports whether err means that the disk or a quota is full.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Last implements Store.
func (b *Bolt) Last() (messages.Seq, error) {
	var last messages.Seq
	err := b.view(func(t *txn) error {
		last = t.totals.Last
		return nil
	})
	return last, err
}

// Read implements Store.
func (b *Bolt) Read(after messages.Seq, limit int) ([]messages.FactRecorded, error) {
	var out []messages.FactRecorded
	err := b.view(func(t *txn) error {
		c := t.bucket(factsBucket).Cursor()
		for k, v := c.Seek(seqKey(after + 1)); k != nil && len(out) < limit && after+1 > after; k, v = c.Next() {
			body, err := unseal(factsBucket, k, v)
			if err != nil {
				return err
			}
			fact, err := decodeFact(body)
			if err != nil {
				return err
			}
			out = append(out, messages.FactRecorded{Seq: keySeq(k), Fact: fact})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Close implements Store. It waits for a commit or a compaction in progress. A file over which bbolt
// panicked stays open until the process ends.
func (b *Bolt) Close() error {
	b.mu.Lock()
	closed, stuck, broken := b.closed, b.stuck, b.broken
	b.closed = true
	b.mu.Unlock()
	switch {
	case closed:
		return nil
	case stuck:
		return broken
	}
	b.compacting.Lock()
	defer b.compacting.Unlock()
	return guarded(b.db.Close)
}

// Health returns the error of the newest write; nil means that facts can be recorded.
func (b *Bolt) Health() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	return b.failing
}

// view runs a read on the newest commit.
func (b *Bolt) view(ask func(*txn) error) error {
	if err := b.usable(); err != nil {
		return err
	}
	return b.fault(guarded(func() error {
		b.swap.RLock()
		defer b.swap.RUnlock()
		if err := b.whole(heads()); err != nil {
			return err
		}
		return b.db.View(func(tx *bbolt.Tx) error {
			t, err := begin(tx)
			if err != nil {
				return err
			}
			return ask(t)
		})
	}))
}

func (b *Bolt) usable() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	return b.broken
}

// fault wraps an error for callers. Damage found in an open journal makes it unusable.
func (b *Bolt) fault(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrHole):
		return err
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, errRenamed):
		b.mu.Lock()
		defer b.mu.Unlock()
		b.broken = fmt.Errorf("journal %s: %w", b.path, err)
		return b.broken
	case errors.Is(err, errSeal), errors.Is(err, errForm), errors.Is(err, errPanic):
		b.mu.Lock()
		defer b.mu.Unlock()
		b.broken = damaged(b.path, err)
		b.stuck = b.stuck || errors.Is(err, errPanic)
		return b.broken
	}
	return fmt.Errorf("journal %s: %w", b.path, err)
}

var errPanic = errors.New("cannot use the file")

// guarded turns a panic into an error. bbolt maps its file, so that a truncated file or
// a bad sector becomes a memory fault.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return do()
}

// seqKey returns a number as a key that sorts numerically.
func seqKey(seq messages.Seq) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(seq))
}

func keySeq(key []byte) messages.Seq {
	if len(key) < 8 {
		return 0
	}
	return messages.Seq(binary.BigEndian.Uint64(key[len(key)-8:]))
}
