package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"troupe/messages"
)

// maxRound bounds the calls of one commit, so that the first need not wait for all
// later ones.
const maxRound = 1024

// pendingBatch is a caller whose batch is not committed yet.
type pendingBatch struct {
	batch Batch
	err   error
	leads bool // this caller makes the next commit
	woken chan struct{}
}

// Append implements Store.
func (b *Bolt) Append(facts []messages.FactRecorded) error { return b.Write(Batch{Facts: facts}) }

// Write implements Writer. A caller that finds no commit in progress makes one. Later
// callers wait, and the first of them makes the next commit for all.
func (b *Bolt) Write(batch Batch) error {
	w := &pendingBatch{batch: batch, woken: make(chan struct{})}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return ErrClosed
	}
	b.queue = append(b.queue, w)
	leads := !b.writing
	b.writing = true
	b.mu.Unlock()
	if !leads {
		<-w.woken
		if !w.leads {
			return w.err
		}
	}
	b.lead(w)
	return w.err
}

// lead commits the waiting batches, w among them, compacts the file if that is worth it, and
// wakes the next leader.
func (b *Bolt) lead(w *pendingBatch) {
	b.mu.Lock()
	n := min(len(b.queue), maxRound)
	round := slices.Clone(b.queue[:n])
	b.queue = slices.Delete(b.queue, 0, n)
	b.mu.Unlock()

	b.commit(round)
	for _, other := range round {
		if other != w {
			close(other.woken)
		}
	}
	_ = b.shrink(mostCopied) // a fault shows in the next write

	b.mu.Lock()
	b.writing = len(b.queue) > 0
	if b.writing {
		b.queue[0].leads = true
		close(b.queue[0].woken)
	}
	b.mu.Unlock()
}

// errUnchanged rolls back a commit without changes.
var errUnchanged = errors.New("nothing has changed")

// commit writes the batches of a round in the order of their facts, each completely or
// not at all.
func (b *Bolt) commit(round []*pendingBatch) {
	slices.SortStableFunc(round, func(x, y *pendingBatch) int { return cmp.Compare(x.firstSeq(), y.firstSeq()) })
	done := Stats{Commits: 1, Writes: uint64(len(round))}
	var forgot []messages.UID
	err := b.usable()
	if err == nil {
		err = b.fault(guarded(func() error {
			return b.update(func(tx *bbolt.Tx) (err error) {
				forgot, err = b.apply(tx, round, &done)
				return err
			})
		}))
	}
	unchanged := errors.Is(err, errUnchanged)
	if unchanged {
		err = nil
	}
	b.mu.Lock()
	b.failing = err
	b.mu.Unlock()
	switch {
	case unchanged:
		return
	case err != nil:
		for _, w := range round {
			w.err = cmp.Or(w.err, err)
		}
		return
	}
	if b.forgot != nil && len(forgot) > 0 {
		b.forgot(forgot)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Commits += done.Commits
	b.stats.Writes += done.Writes
	b.stats.Facts += done.Facts
	b.stats.Trimmed += done.Trimmed
}

// update runs a change in a transaction of bbolt. bbolt rolls back by reading the whole
// file in its own goroutine, which kills the process if the file was truncated. So
// there is no rollback in a truncated file, nor after a panic.
func (b *Bolt) update(change func(*bbolt.Tx) error) error {
	if err := b.whole(heads()); err != nil {
		return err
	}
	tx, err := b.db.Begin(true)
	if err != nil {
		return err
	}
	least := tx.Size()
	if err = b.whole(least); err != nil {
		return err
	}
	err = change(tx)
	if cut := b.whole(least); cut != nil {
		return cut
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// heads returns the size of the pages that bbolt reads when a transaction begins. It holds a lock of
// all transactions then, and a fault would leave it locked.
func heads() int64 { return int64(2 * os.Getpagesize()) }

// whole reports whether the file still has all pages in use.
func (b *Bolt) whole(least int64) error {
	info, err := b.file.Stat()
	switch {
	case errors.Is(err, os.ErrClosed):
		return bolterrors.ErrDatabaseNotOpen
	case err != nil:
		return fmt.Errorf("%w: %w", errPanic, err)
	case info.Size() < least:
		return fmt.Errorf("%w: it was cut off after %d bytes of %d", errPanic, info.Size(), least)
	}
	return nil
}

// firstSeq returns the number of a batch's first fact. Batches without facts come last,
// since they may concern facts of the others.
func (w *pendingBatch) firstSeq() messages.Seq {
	if len(w.batch.Facts) == 0 {
		return ^messages.Seq(0)
	}
	return w.batch.Facts[0].Seq
}

// apply applies the batches of a round and returns the jobs that Retention removed.
func (b *Bolt) apply(tx *bbolt.Tx, round []*pendingBatch, done *Stats) (forgot []messages.UID, err error) {
	t, err := begin(tx)
	if err != nil {
		return nil, err
	}
	now, had := time.Now(), t.totals.Last
	for _, w := range round {
		facts, forms, err := encodeFresh(w.batch.Facts, t.totals.Last)
		if err != nil {
			w.err = err // nothing of it was applied
			continue
		}
		for i, f := range facts {
			if err := t.fact(f, forms[i]); err != nil {
				return nil, err
			}
		}
		if err := t.take(w.batch, now, b.keep); err != nil {
			return nil, err
		}
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	done.Facts = uint64(t.totals.Last - had)
	if err := t.trim(now, b.keep, int(done.Facts)); err != nil {
		return nil, err
	}
	done.Trimmed = t.trimmed
	if !t.changed {
		return nil, errUnchanged
	}
	return t.forgot, t.end()
}

// encodeFresh returns the facts after last and their encoded forms. It rejects a batch
// before anything is applied.
func encodeFresh(facts []messages.FactRecorded, last messages.Seq) ([]messages.FactRecorded, [][]byte, error) {
	facts, err := fresh(facts, last)
	if err != nil {
		return nil, nil, err
	}
	forms := make([][]byte, len(facts))
	for i, f := range facts {
		if forms[i], err = encodeFact(f.Fact); err != nil {
			return nil, nil, err
		}
	}
	return facts, forms, nil
}
