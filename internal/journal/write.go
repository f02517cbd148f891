package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"troupe/messages"
)

// maxRound bounds what is committed together, so that who came first does not
// wait for all that have come since.
const maxRound = 1024

// pendingBatch is a caller whose batch is not committed yet.
type pendingBatch struct {
	batch Batch
	err   error
	leads bool // the next commit is this caller's to make
	woken chan struct{}
}

// Append implements Store.
func (b *Bolt) Append(facts []messages.FactRecorded) error { return b.Write(Batch{Facts: facts}) }

// Write implements Writer. The caller who finds no commit under way makes one;
// those who come meanwhile wait, and the first of them makes the next for all.
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

// lead commits what waits, w first, and hands over to the next.
func (b *Bolt) lead(w *pendingBatch) {
	b.mu.Lock()
	n := min(len(b.queue), maxRound)
	round := slices.Clone(b.queue[:n])
	b.queue = slices.Delete(b.queue, 0, n)
	b.mu.Unlock()

	b.commit(round)

	b.mu.Lock()
	b.writing = len(b.queue) > 0
	if b.writing {
		b.queue[0].leads = true
		close(b.queue[0].woken)
	}
	b.mu.Unlock()
	for _, other := range round {
		if other != w {
			close(other.woken)
		}
	}
}

// errUnchanged undoes a commit that would change nothing.
var errUnchanged = errors.New("nothing has changed")

// commit writes the batches of a round, each whole or not at all. Numbers are
// taken in their order, whoever came first.
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

// update is that of bbolt, which undoes what was not done: it reads the whole file for
// that in a goroutine of its own, where what the file lacks is the end of this process.
// So nothing is undone in a file that was cut, nor behind a panic: it is left as it is.
func (b *Bolt) update(change func(*bbolt.Tx) error) error {
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

// whole reports whether the file has all that is in use of it.
func (b *Bolt) whole(least int64) error {
	info, err := b.file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errPanic, err)
	case info.Size() < least:
		return fmt.Errorf("%w: it was cut off after %d bytes of %d", errPanic, info.Size(), least)
	}
	return nil
}

// firstSeq is the number of the first fact of a batch; one without facts may
// speak of those of the others.
func (w *pendingBatch) firstSeq() messages.Seq {
	if len(w.batch.Facts) == 0 {
		return ^messages.Seq(0)
	}
	return w.batch.Facts[0].Seq
}

// apply does what the callers of a round ask for, and gives the jobs that had to go.
func (b *Bolt) apply(tx *bbolt.Tx, round []*pendingBatch, done *Stats) (forgot []messages.UID, err error) {
	t, err := begin(tx)
	if err != nil {
		return nil, err
	}
	now, had := time.Now(), t.totals.last
	for _, w := range round {
		facts, forms, err := encodeFresh(w.batch.Facts, t.totals.last)
		if err != nil {
			w.err = err // nothing of it was done
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
	done.Facts = uint64(t.totals.last - had)
	if err := t.trim(now, b.keep, int(done.Facts)); err != nil {
		return nil, err
	}
	done.Trimmed = t.trimmed
	if !t.changed {
		return nil, errUnchanged
	}
	return t.forgot, t.end()
}

// encodeFresh gives those facts that are not recorded yet, and their forms. What
// it refuses is refused before anything is done.
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
