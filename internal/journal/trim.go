package journal

import (
	"slices"
	"time"

	"troupe/messages"
)

// trimSpare bounds the removals of a commit, so that none takes long: twice the facts
// that it added, plus trimSpare. Of many facts that are no longer in use, as after the
// removal of all jobs, it removes the part 1/trimPart.
const (
	trimSpare = 128
	trimPart  = 32
)

// trim removes what exceeds keep. facts is the number of added facts.
func (t *txn) trim(now time.Time, keep Retention, facts int) error {
	budget := trimSpare + 2*facts
	waiting, after := uint64(0), messages.Seq(0) // jobs with pending notices, and the newest of them
	for ; budget > 0; budget-- {
		r, err := t.next(overBucket, after)
		if err != nil {
			return err
		}
		if r == nil || t.totals.Over-waiting <= uint64(keep.Jobs) && now.Sub(r.Job.End.At) <= keep.Age {
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
	most := trimSpare + 2*facts
	if first := t.totals.first(); first < wanted {
		most = max(most, int(wanted-first)/trimPart)
	}
	for n := 0; n < most && t.totals.Facts > 0; n++ {
		first := t.totals.first()
		if first >= wanted && t.totals.Facts <= uint64(keep.Facts) && t.totals.Bytes <= uint64(keep.Bytes) {
			break
		}
		if err := t.delete(factsBucket, seqKey(first)); err != nil {
			return err
		}
		t.totals.Facts--
		t.trimmed++
	}
	return t.trimBytes(keep, budget)
}

// trimBytes removes jobs whose records alone are too large.
func (t *txn) trimBytes(keep Retention, budget int) error {
	for ; budget > 0 && t.totals.Facts == 0 && t.totals.Bytes > uint64(keep.Bytes); budget-- {
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

// expire removes a job because of Retention and reports it to Forgot.
func (t *txn) expire(r *record) error {
	t.forgot = append(t.forgot, r.Job.UID)
	return t.forget(r)
}

func (t *txn) oldestOver() (*record, error) { return t.front(overBucket) }

// front returns the first job of an index by number; nil if it is empty.
func (t *txn) front(bucket string) (*record, error) { return t.next(bucket, 0) }

// next returns the job after a number in an index; nil if there is none.
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

// wanted returns the number of the oldest fact still in use: by a kept job, by a
// channel that has not acknowledged it, or among the newest.
func (t *txn) wanted(now time.Time, keep Retention) (messages.Seq, error) {
	wanted := messages.Seq(1)
	if tail := messages.Seq(min(tailFacts, keep.Facts)); t.totals.Last > tail {
		wanted = t.totals.Last - tail + 1
	}
	for _, bucket := range []string{liveBucket, overBucket} {
		r, err := t.front(bucket)
		if err != nil {
			return 0, err
		}
		if r != nil {
			wanted = min(wanted, r.First)
		}
	}
	if t.totals.first() >= wanted {
		return wanted, nil // nothing can be removed, whatever the channels need
	}
	err := t.eachChannel(func(s subscriber) {
		if now.Sub(s.Seen) <= keep.Age {
			wanted = min(wanted, s.Acked+1)
		}
	})
	return wanted, err
}
