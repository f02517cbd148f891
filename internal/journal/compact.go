package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// A bbolt file never shrinks: freed pages wait for records to come. A file of which more than
// half is free is compacted: what it holds is copied into a new file beside it, which takes its
// place when it is on the disk. Until then the old file is whole, and nothing is written to
// either. Both are locked all the time, so that no other process opens one in between. A kill
// leaves the old file and an unfinished one, which the next OpenBolt removes, or the new file.

const (
	// DefaultCompactFrom is the least size of a file that is compacted. A new file may have
	// growth bytes in reserve, so that a smaller one would gain little.
	DefaultCompactFrom = 8 << 20
	// mostCopied bounds the records of a file that is compacted while writers wait: about
	// 50 ms. A larger one waits until it is opened the next time.
	mostCopied = 16 << 20
	// copiedAtOnce bounds the records of one transaction, which are in memory.
	copiedAtOnce = 1 << 20

	unfinishedSuffix = ".new"
)

// shrink compacts a file that is sparse, unless it has more than most bytes of records. The
// caller is the only writer. A failure leaves the journal as it is, and is not repeated before
// the file has doubled; a full disk must not stop the journal.
func (b *Bolt) shrink(most uint64) error {
	b.compacting.Lock()
	defer b.compacting.Unlock()
	if err := b.usable(); err != nil {
		return err
	}
	size, err := b.sparse(most)
	if err != nil || size == 0 {
		return err
	}
	switch err = b.compact(); {
	case err == nil:
		b.sparseFrom = b.compactFrom
		b.mu.Lock()
		b.stats.Compactions++
		b.mu.Unlock()
		return nil
	case errors.Is(err, errPanic), errors.Is(err, errRenamed):
		return b.fault(err)
	}
	b.sparseFrom = 2 * size
	return nil
}

// sparse returns the size of a file that is to be compacted, else 0.
func (b *Bolt) sparse(most uint64) (size int64, err error) {
	info, err := b.file.Stat()
	if err != nil || info.Size() < b.sparseFrom {
		return 0, err
	}
	free := b.db.Stats()
	err = b.view(func(t *txn) error {
		used := t.tx.Size() - int64(free.FreePageN+free.PendingPageN)*pageSize
		if 2*used < info.Size() && t.totals.Bytes <= most {
			size = info.Size()
		}
		return nil
	})
	return size, err
}

// errRenamed means that the new file has its name, but perhaps not after a loss of power: what
// is written to it now could be lost.
var errRenamed = errors.New("the compacted file may not survive a loss of power")

// compact replaces the file by one without free pages, and uses that.
func (b *Bolt) compact() error {
	unfinished := b.path + unfinishedSuffix
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an attempt that failed
		return err
	}
	db, file, err := openFile(unfinished, makeFlags, bbolt.Options{Timeout: DefaultLockTimeout, NoSync: true})
	if err != nil {
		return err
	}
	if err = b.copyTo(db, file); err == nil {
		err = os.Rename(unfinished, b.path)
	}
	if err != nil {
		return errors.Join(err, db.Close(), os.Remove(unfinished))
	}
	synced := errors.Join(b.at(atRenamed), syncDir(filepath.Dir(b.path)))
	db.NoSync = b.db.NoSync
	b.swap.Lock()
	old := b.db
	b.db, b.file = db, file
	b.swap.Unlock()
	if synced != nil {
		synced = fmt.Errorf("%w: %w", errRenamed, synced)
	}
	return errors.Join(synced, b.at(atSwapped), guarded(old.Close))
}

// copyTo copies all records to a new file, checks it, and syncs it.
func (b *Bolt) copyTo(db *bbolt.DB, file *os.File) error {
	err := guarded(func() error { return bbolt.Compact(db, b.db, copiedAtOnce) })
	if err = errors.Join(err, b.at(atCopied)); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if _, err = verifyFile(b.path, file, info.Size()); err != nil {
		return err
	}
	return errors.Join(db.Sync(), b.at(atSynced))
}

// Steps of a compaction, at which a test may interrupt it.
const (
	atCopied  = "copied"
	atSynced  = "synced"
	atRenamed = "renamed"
	atSwapped = "swapped"
)

// at runs what a test does at a step.
func (b *Bolt) at(step string) error {
	if b.interrupt == nil {
		return nil
	}
	return b.interrupt(step)
}
