package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"troupe/messages"
)

// Bolt is the journal of a node that outlives its process: one file of bbolt,
// which survives a SIGKILL at any instant and a loss of power with all that was
// acknowledged. Whoever writes while another write is under way is committed
// together with all others that wait.
//
// Reads and writes wait for the disk.
type Bolt struct {
	path   string
	keep   Retention
	forgot func(jobs []messages.UID)
	db     *bbolt.DB
	file   *os.File // of db, which closes it

	mu      sync.Mutex
	queue   []*pendingBatch // who waits for the next commit; each is a blocked caller
	writing bool
	closed  bool
	broken  error // a fault while the file was in use: nothing is done with it any more
	stuck   bool  // bbolt panicked over it: it may hold its locks since
	failing error // why the newest write was not made; nil: it was
	stats   Stats
}

// BoltOptions are the choices of a Bolt. The zero value means the defaults.
type BoltOptions struct {
	Retention Retention
	Timeout   time.Duration // for another process to let go of the file; 0: DefaultLockTimeout

	// Forgot hears of the jobs whose records were let go by the Retention, when that is
	// committed, and not of those that were Removed. It is called by OpenBolt and by
	// those who write, who wait for it: it must not write itself.
	Forgot func(jobs []messages.UID)

	// NoSync leaves the disk to the kernel. A killed process loses nothing by it, a
	// loss of power may leave no journal at all: for measurements.
	NoSync bool
}

// DefaultLockTimeout is how long an ended daemon may take to let go of its
// journal: longer than a commit on a slow disk, shorter than a user waits.
const DefaultLockTimeout = 2 * time.Second

// growth is by how much a large file grows; small ones double.
const growth = 4 << 20

// Stats count what a Bolt has done since it was opened.
type Stats struct {
	Commits uint64 // to the disk
	Writes  uint64 // calls that they served
	Facts   uint64 // recorded
	Trimmed uint64 // facts forgotten
}

// OpenBolt opens the journal at path, and makes it and its directory if they are
// not there. A file that cannot be trusted is left as it is: ErrDamaged,
// ErrForeign, ErrNewer or ErrUnsafe, with what to do. One that another process
// has open is ErrInUse.
func OpenBolt(path string, o BoltOptions) (*Bolt, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultLockTimeout
	}
	if err := prepare(path, o.Timeout); err != nil {
		return nil, err
	}
	if err := verify(path, o.Timeout); err != nil {
		return nil, err
	}
	db, file, err := openFile(path, openFlags, bbolt.Options{Timeout: o.Timeout, NoSync: o.NoSync})
	if err != nil {
		return nil, err
	}
	b := &Bolt{path: path, keep: o.Retention.withDefaults(), forgot: o.Forgot, db: db, file: file}
	err = b.fault(guarded(func() error { return b.update(mark) }))
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	trimmed := b.Append(nil) // what has become too old meanwhile
	if full(trimmed) {
		trimmed = nil // it goes later: a journal that is there can be read without room
	}
	if err := errors.Join(err, trimmed); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// full says that there is no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Stats tell what was done so far.
func (b *Bolt) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// First implements Store.
func (b *Bolt) First() (messages.Seq, error) {
	var first messages.Seq
	err := b.view(func(t *txn) error {
		if t.totals.facts > 0 {
			first = t.totals.first()
		}
		return nil
	})
	return first, err
}

// Last implements Store.
func (b *Bolt) Last() (messages.Seq, error) {
	var last messages.Seq
	err := b.view(func(t *txn) error {
		last = t.totals.last
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

// Close implements Store. It waits for the commit that is under way. A file over which
// bbolt panicked is left to the end of the process.
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
	return guarded(b.db.Close)
}

// Health is why nothing can be recorded, as the newest write found it; nil: it can.
func (b *Bolt) Health() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	return b.failing
}

// view looks at the newest commit.
func (b *Bolt) view(ask func(*txn) error) error {
	if err := b.usable(); err != nil {
		return err
	}
	return b.fault(guarded(func() error {
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

// fault gives an error its sentence. A journal that turned out to be damaged
// while it was open is not touched again.
func (b *Bolt) fault(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNoJob), errors.Is(err, ErrHole):
		return err
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, errSeal), errors.Is(err, errWire), errors.Is(err, errPanic):
		b.mu.Lock()
		defer b.mu.Unlock()
		b.broken = damaged(b.path, err)
		b.stuck = b.stuck || errors.Is(err, errPanic)
		return b.broken
	}
	return fmt.Errorf("journal %s: %w", b.path, err)
}

var errPanic = errors.New("it could not be used")

// guarded turns a panic into an error: bbolt reads a mapped file and trusts it,
// so that a file cut off beneath it, or a bad sector, is a fault of memory.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return do()
}

// seqKey is a number as a key: in order.
func seqKey(seq messages.Seq) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(seq))
}

func keySeq(key []byte) messages.Seq {
	if len(key) < 8 {
		return 0
	}
	return messages.Seq(binary.BigEndian.Uint64(key[len(key)-8:]))
}
