package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/internal/codec"
	"troupe/messages"
)

// record is the stored state of one job.
type record struct {
	Entry
	First messages.Seq  `cbor:"5,keyasint,omitzero"` // number of its first fact
	Small []smallOutput `cbor:"6,keyasint,omitzero"` // its outputs, if small
}

// smallOutput is one Output in a record.
type smallOutput struct {
	Stream uint8  `cbor:"1,keyasint,omitzero"`
	Data   []byte `cbor:"2,keyasint,omitzero"`
}

// longKey is the length from which a name is hashed, in bytes; bbolt allows 32 KiB.
const longKey = 256

// nameKey returns a key for a name of any length and bytes.
func nameKey(name string) []byte {
	if len(name) <= longKey && strings.IndexByte(name, 0) < 0 {
		return []byte(name)
	}
	sum := sha256.Sum256([]byte(name))
	return hex.AppendEncode([]byte{0}, sum[:])
}

func hashKey(principal messages.Principal, key string) []byte {
	h := sha256.New()
	h.Write(nameKey(string(principal)))
	h.Write([]byte{0})
	h.Write([]byte(key))
	return h.Sum(nil)
}

// fact records one fact in its encoded form, and updates its job.
func (t *txn) fact(f messages.FactRecorded, form []byte) error {
	if err := t.put(factsBucket, seqKey(f.Seq), form); err != nil {
		return err
	}
	t.totals.Last = f.Seq
	t.totals.Facts++
	if fact, ok := f.Fact.(messages.CommandFact); ok && fact.Record().ID != "" {
		return t.learn(f.Seq, fact)
	}
	return nil
}

// learn updates the record of a fact's job. After the job is over, only the state of
// its notices changes.
func (t *txn) learn(seq messages.Seq, fact messages.CommandFact) error {
	job := fact.Record()
	r, err := t.job(job.ID)
	if err != nil {
		return err
	}
	if r != nil && r.Job.UID != job.UID {
		if err := t.forget(r); err != nil {
			return err
		}
		r = nil
	}
	switch {
	case r == nil:
		r = &record{First: seq}
		r.Job = job
		if err := t.enter(r); err != nil {
			return err
		}
	case r.Over > 0:
		if afterEnd(fact) {
			r.Job.OnFinish, r.Job.Faults, r.Job.Seq = job.OnFinish, job.Faults, seq
			t.save(r)
		}
		return nil
	}
	r.Job = job
	r.Job.Seq = seq
	if job.State != messages.Queued {
		r.Request = Request{}
	}
	if _, retired := fact.(messages.CommandRetired); retired {
		r.Over = seq
		t.totals.Over++
		if err := t.delete(liveBucket, seqKey(r.First)); err != nil {
			return err
		}
		if err := t.put(overBucket, seqKey(seq), []byte(job.ID)); err != nil {
			return err
		}
	}
	t.save(r)
	return nil
}

// afterEnd reports whether a fact may follow CommandRetired.
func afterEnd(fact messages.CommandFact) bool {
	switch fact.(type) {
	case messages.CommandNotified, messages.CommandChanged:
		return true
	}
	return false
}

// save marks a record for the flush, so that several facts of a commit write it once.
func (t *txn) save(r *record) {
	if t.dirty == nil {
		t.dirty = map[messages.JobID]*record{}
	}
	t.dirty[r.Job.ID] = r
}

// flush writes the marked records.
func (t *txn) flush() error {
	for _, id := range slices.Sorted(maps.Keys(t.dirty)) {
		body, err := codec.Encode(t.dirty[id])
		if err == nil {
			err = t.put(jobsBucket, nameKey(string(id)), body)
		}
		if err != nil {
			return err
		}
	}
	t.dirty = nil
	return nil
}

// enter adds a new job to the indexes.
func (t *txn) enter(r *record) error {
	id := []byte(r.Job.ID)
	t.totals.Number = max(t.totals.Number, idNumber(r.Job.ID))
	if r.Job.UID != "" {
		if err := t.put(uidsBucket, nameKey(string(r.Job.UID)), id); err != nil {
			return err
		}
	}
	return t.put(liveBucket, seqKey(r.First), id)
}

// forget removes a job except for its facts.
func (t *txn) forget(r *record) error {
	if r.Over > 0 {
		t.totals.Over--
	}
	delete(t.dirty, r.Job.ID)
	for _, d := range []struct {
		bucket string
		key    []byte
		there  bool
	}{
		{jobsBucket, nameKey(string(r.Job.ID)), true},
		{uidsBucket, nameKey(string(r.Job.UID)), r.Job.UID != ""},
		{keysBucket, hashKey(r.Key.Principal, r.Key.Key), r.Key.Key != ""},
		{liveBucket, seqKey(r.First), r.Over == 0},
		{overBucket, seqKey(r.Over), r.Over > 0},
	} {
		if !d.there {
			continue
		}
		if err := t.delete(d.bucket, d.key); err != nil {
			return err
		}
	}
	return nil
}

// job returns a record; nil if there is none.
func (t *txn) job(id messages.JobID) (*record, error) {
	if r := t.dirty[id]; r != nil {
		return r, nil
	}
	body, err := t.get(jobsBucket, nameKey(string(id)))
	if body == nil || err != nil {
		return nil, err
	}
	r, err := decode[record](body)
	if err != nil {
		return nil, err
	}
	if r.Job.ID != id {
		return nil, nil // another job with the same hash
	}
	return &r, nil
}

// take records the parts of a batch after its facts.
func (t *txn) take(b Batch, now time.Time, keep Retention) error {
	for _, k := range b.Keys {
		if err := t.key(k); err != nil {
			return err
		}
	}
	if err := t.channels(b, now, keep.Channels); err != nil {
		return err
	}
	if err := t.ends(b.Ends); err != nil {
		return err
	}
	if b.opened {
		if err := t.opened(); err != nil {
			return err
		}
	}
	for _, o := range b.Outputs {
		if err := t.output(o); err != nil {
			return err
		}
	}
	for _, q := range b.Requests {
		if err := t.request(q); err != nil {
			return err
		}
	}
	for _, id := range b.Removed {
		r, err := t.job(id)
		if err == nil && r != nil && r.Over > 0 {
			err = t.forget(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// output stores an output in the record of its job.
func (t *txn) output(o Output) error {
	r, err := t.job(o.Job)
	if err != nil || r == nil || r.Job.UID != o.UID {
		return err
	}
	r.Small = slices.DeleteFunc(r.Small, func(s smallOutput) bool { return s.Stream == o.Stream })
	r.Small = append(r.Small, smallOutput{o.Stream, o.Data})
	t.save(r)
	return nil
}

func (t *txn) key(k Key) error {
	r, err := t.job(k.Job)
	if err != nil || r == nil || k.Key == "" || r.Key == k {
		return err
	}
	hash := hashKey(k.Principal, k.Key)
	if id, err := t.get(keysBucket, hash); err != nil {
		return err
	} else if other, err := t.job(messages.JobID(id)); err != nil {
		return err
	} else if other != nil && other.Job.ID != k.Job {
		other.Key = Key{}
		t.save(other)
	}
	if r.Key.Key != "" {
		if err := t.delete(keysBucket, hashKey(r.Key.Principal, r.Key.Key)); err != nil {
			return err
		}
	}
	r.Key = k
	t.save(r)
	return t.put(keysBucket, hash, []byte(k.Job))
}
