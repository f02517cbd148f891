package journal

import (
	"go.etcd.io/bbolt"

	"troupe/messages"
)

// LastJobNumber implements Jobs.
func (b *Bolt) LastJobNumber() (uint64, error) {
	var n uint64
	err := b.view(func(t *txn) error {
		n = t.totals.Number
		return nil
	})
	return n, err
}

// Outputs implements Outputs.
func (b *Bolt) Outputs(uid messages.UID) (all []Output, err error) {
	err = b.view(func(t *txn) error {
		id, err := t.get(uidsBucket, nameKey(string(uid)))
		if id == nil || err != nil {
			return err
		}
		r, err := t.job(messages.JobID(id))
		if r == nil || err != nil || r.Job.UID != uid {
			return err
		}
		for _, s := range r.Small {
			all = append(all, Output{Job: r.Job.ID, UID: uid, Stream: s.Stream, Data: s.Data})
		}
		return nil
	})
	return all, err
}

// Live implements Jobs.
func (b *Bolt) Live() ([]Entry, error) {
	var all []Entry
	err := b.view(func(t *txn) error {
		c := t.bucket(liveBucket).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			e, err := t.entryOf(liveBucket, k, v)
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	})
	return all, err
}

// below moves to the last key below end.
func below(c *bbolt.Cursor, end []byte) (key, value []byte) {
	if at, _ := c.Seek(end); at != nil {
		return c.Prev()
	}
	return c.Last()
}

// Finished implements Jobs.
func (b *Bolt) Finished(before messages.Seq, limit int) ([]Entry, error) {
	end := before
	if end == 0 {
		end = ^messages.Seq(0)
	}
	var page []Entry
	err := b.view(func(t *txn) error {
		c := t.bucket(overBucket).Cursor()
		for k, v := below(c, seqKey(end)); k != nil && len(page) < limit; k, v = c.Prev() {
			e, err := t.entryOf(overBucket, k, v)
			if err != nil {
				return err
			}
			page = append(page, e)
		}
		return nil
	})
	return page, err
}

func (t *txn) entryOf(bucket string, key, value []byte) (Entry, error) {
	id, err := unseal(bucket, key, value)
	if err != nil {
		return Entry{}, err
	}
	r, err := t.job(messages.JobID(id))
	if err == nil && r == nil {
		err = errSeal
	}
	if err != nil {
		return Entry{}, err
	}
	return r.Entry, nil
}
