package journal

import (
	"slices"
	"time"

	"troupe/messages"
)

// What is forgotten, a little with each commit, so that none takes long: as much
// as came, and trimSpare more of what has only become too old.
const trimSpare = 128

// trim forgets what is out of bounds. facts is how many were added.
func (t *txn) trim(now time.Time, keep Retention, facts int) error {
	budget := trimSpare + 2*facts
	waiting, after := uint64(0), messages.Seq(0) // jobs whose end is to be told, and the newest of them
	for ; budget > 0; budget-- {
		r, err := t.next(overBucket, after)
		if err != nil {
			return err
		}
		if r == nil || t.totals.over-waiting <= uint64(keep.Jobs) && now.Sub(r.Job.Ended) <= keep.Age {
			break
		}
		if waiting < uint64(keep.Jobs) && slices.ContainsFunc(r.Job.OnFinish, pending) {
			waiting, after = waiting+1, r.Over
			continue
		}
		if err := t.expire(r); err != nil {
			return err
		}
	}
	wanted, err := t.wanted(now, keep)
	if err != nil {
		return err
	}
	for n := 0; n < trimSpare+2*facts && t.totals.facts > 0; n++ {
		first := t.totals.first()
		if first >= wanted && t.totals.facts <= uint64(keep.Facts) && t.totals.bytes <= uint64(keep.Bytes) {
			break
		}
		if err := t.delete(factsBucket, seqKey(first)); err != nil {
			return err
		}
		t.totals.facts--
		t.trimmed++
	}
	return t.trimBytes(keep, budget)
}

// trimBytes lets jobs go whose records alone are too much.
func (t *txn) trimBytes(keep Retention, budget int) error {
	for ; budget > 0 && t.totals.facts == 0 && t.totals.bytes > uint64(keep.Bytes); budget-- {
		r, err := t.oldestOver()
		if err != nil || r == nil {
			return err
		}
		if err := t.expire(r); err != nil {
			return err
		}
	}
	return nil
}

func pending(n messages.Notice) bool { return n.State == messages.NoticePending }

// expire forgets a job that nobody asked to forget, and notes that.
func (t *txn) expire(r *record) error {
	t.forgot = append(t.forgot, r.Job.UID)
	return t.forget(r)
}

func (t *txn) oldestOver() (*record, error) { return t.front(overBucket) }

// front gives the job that a bucket of numbers names first, nil if there is none.
func (t *txn) front(bucket string) (*record, error) { return t.next(bucket, 0) }

// next gives the job that a bucket of numbers names behind one, nil if there is none.
func (t *txn) next(bucket string, after messages.Seq) (*record, error) {
	k, v := t.bucket(bucket).Cursor().Seek(seqKey(after + 1))
	if k == nil {
		return nil, nil
	}
	id, err := unseal(bucket, k, v)
	if err != nil {
		return nil, err
	}
	r, err := t.job(messages.JobID(id))
	if err == nil && r == nil {
		err = errSeal
	}
	return r, err
}

// wanted is the number of the oldest fact that somebody may ask for: of a job
// that runs, of the oldest that is kept, or above what a channel acknowledged.
func (t *txn) wanted(now time.Time, keep Retention) (messages.Seq, error) {
	wanted := messages.Seq(1)
	if tail := messages.Seq(min(tailFacts, keep.Facts)); t.totals.last > tail {
		wanted = t.totals.last - tail + 1
	}
	for _, bucket := range []string{liveBucket, overBucket} {
		r, err := t.front(bucket)
		if err != nil {
			return 0, err
		}
		if r != nil {
			wanted = min(wanted, r.first)
		}
	}
	if t.totals.first() >= wanted {
		return wanted, nil // nothing can go, whatever the channels want
	}
	err := t.eachChannel(func(s subscriber) {
		if now.Sub(s.seen) <= keep.Age {
			wanted = min(wanted, s.Acked+1)
		}
	})
	return wanted, err
}
