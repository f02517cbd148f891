package journal

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"go.etcd.io/bbolt"

	"troupe/messages"
)

// What the tests may reach beside the API.

// SetFormat makes the file one of another format.
func (b *Bolt) SetFormat(format uint64) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		f := fields{write: true}
		uvarintField(&f, 1, &format)
		return tx.Bucket([]byte(metaBucket)).Put(formatKey, seal(metaBucket, formatKey, f.buf))
	})
}

// FormatIn is the format that the file says.
func (b *Bolt) FormatIn() (format uint64, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		body, err := unseal(metaBucket, formatKey, tx.Bucket([]byte(metaBucket)).Get(formatKey))
		f := fields{buf: body}
		uvarintField(&f, 1, &format)
		return err
	})
	return format, err
}

func EncodeFact(f messages.Fact) ([]byte, error) { return encodeFact(f) }
func DecodeFact(b []byte) (messages.Fact, error) { return decodeFact(b) }

// DecodeRecords reads b as each other record of the file.
func DecodeRecords(b []byte) {
	_ = decode(b, &record{}, recordFields)
	_ = decode(b, &subscriber{}, subscriberFields)
	_ = decode(b, &totals{}, totalsFields)
}

// Verify looks at the bytes of a file as OpenBolt does.
func Verify(file []byte) error {
	return verifyFile("fuzzed", bytes.NewReader(file), int64(len(file)))
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
		facts, over, bytes = t.totals.facts, t.totals.over, t.totals.bytes
		return nil
	})
	return facts, over, bytes
}

// UnknownKind is a fact that a newer troupe has written.
func UnknownKind() []byte {
	f, kind := fields{write: true}, uint64(99)
	uvarintField(&f, 1, &kind)
	f.string(2, "\x0a\x01x")
	return f.buf
}

// Beyond adds a field of a newer troupe at the end of a message.
func Beyond(b []byte) []byte {
	f := fields{write: true, buf: append([]byte(nil), b...)}
	f.string(1000, "new")
	return f.buf
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
