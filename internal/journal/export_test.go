package journal

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"go.etcd.io/bbolt"

	"troupe/internal/journal/former"
	"troupe/messages"
)

// What the tests may reach beside the API.

// Interrupted calls do at each step of a compaction; an error is that of the step.
func Interrupted(o BoltOptions, do func(step string) error) BoltOptions {
	o.interrupt = do
	return o
}

// SetFormat makes the file one of another format.
func (b *Bolt) SetFormat(format uint64) error {
	return b.db.Update(func(tx *bbolt.Tx) error { return mark(tx, format) })
}

// FormatIn is the format that the file says.
func (b *Bolt) FormatIn() (format uint64, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		body, err := unseal(metaBucket, formatKey, tx.Bucket([]byte(metaBucket)).Get(formatKey))
		if err == nil {
			format, err = formatOf(body)
		}
		return err
	})
	return format, err
}

func EncodeFact(f messages.Fact) ([]byte, error) { return encodeFact(f) }
func DecodeFact(b []byte) (messages.Fact, error) { return decodeFact(b) }

// DecodeRecords reads b as each other record of the file.
func DecodeRecords(b []byte) {
	_, _ = decode[record](b)
	_, _ = decode[subscriber](b)
	_, _ = decode[totals](b)
	_, _ = former.Fact(b)
	_, _ = former.Job(b)
	_, _ = former.Subscriber(b)
	_, _ = former.File(b)
	_, _ = former.Ends(b)
}

// Verify looks at the bytes of a file as OpenBolt does.
func Verify(file []byte) error {
	_, err := verifyFile("fuzzed", bytes.NewReader(file), int64(len(file)))
	return err
}

// Begin makes both beginnings of a file say of themselves that they are whole.
func Begin(file []byte) {
	for at := pageHeader; at < 2*pageSize && at+metaSize <= len(file); at += pageSize {
		sum := fnv.New64a()
		sum.Write(file[at : at+56])
		binary.NativeEndian.PutUint64(file[at+56:], sum.Sum64())
	}
}

// Held counts what is in the file.
func (b *Bolt) Held() (facts, over uint64, bytes uint64) {
	_ = b.view(func(t *txn) error {
		facts, over, bytes = t.totals.Facts, t.totals.Over, t.totals.Bytes
		return nil
	})
	return facts, over, bytes
}

// UnknownKind is a fact that a newer troupe has written.
func UnknownKind() []byte {
	return []byte{99, 0xa0}
}

// Beyond adds a field of a newer troupe to a fact with fewer than 23 others.
func Beyond(b []byte) []byte {
	b = append(slices.Clone(b), 0x19, 0x03, 0xe8, 0x63, 'n', 'e', 'w') // 1000: "new"
	b[1]++                                                             // the number of fields
	return b
}

// Records are the types of all records, for the list of their keys.
func Records() []any {
	all := []any{record{}, subscriber{}, totals{}, messages.SessionEnd{}}
	for _, fact := range kinds[1:] {
		if _, about := fact.(messages.CommandFact); !about {
			all = append(all, fact)
		}
	}
	return all
}

// SpoilEnds makes the ends of sessions in a file unreadable.
func SpoilEnds(path string) error {
	db, _, err := openFile(path, openFlags, bbolt.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(metaBucket)).Put(endsKey, seal(metaBucket, endsKey, []byte("not an encoding")))
	})
}

// WriteTogether writes batches that have all come while a commit was under way.
func (b *Bolt) WriteTogether(batches ...Batch) []error {
	var round []*pendingBatch
	for _, batch := range batches {
		round = append(round, &pendingBatch{batch: batch})
	}
	b.commit(slices.Clone(round))
	var errs []error
	for _, w := range round {
		errs = append(errs, w.err)
	}
	return errs
}

// Unlay puts a bucket of another program into the file.
func (b *Bolt) Unlay() error {
	return b.db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(liveBucket)) })
}

// Look runs a look in a transaction that reads.
func (b *Bolt) Look(look func()) error {
	return b.view(func(*txn) error { look(); return nil })
}

// Stats returns the counts so far.
func (b *Bolt) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// MaxOrigins is the bound on stored openings.
const MaxOrigins = maxOrigins

// OpenedAgain records so many openings.
func (b *Bolt) OpenedAgain(n int) error {
	return change(b.db, func(t *txn) error {
		for range n {
			if err := t.opened(); err != nil {
				return err
			}
		}
		return nil
	})
}
