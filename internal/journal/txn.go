package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"troupe/messages"
)

// Format is the number of the file's format. A new kind of fact raises it, since an
// older troupe would misread the file; a new field does not.
const Format = 2

// Buckets and their keys: values.
const (
	metaBucket     = "meta"     // format, totals, ends
	factsBucket    = "facts"    // number: fact
	jobsBucket     = "jobs"     // id: record
	liveBucket     = "live"     // number of its first fact: id
	overBucket     = "over"     // number of its last fact: id
	uidsBucket     = "uids"     // ULID: id
	namesBucket    = "names"    // name, number of its first fact: id; part of the format, not read
	keysBucket     = "keys"     // hash of principal and key: id
	channelsBucket = "channels" // id: channel
)

// counted lists the buckets whose records the totals count.
var counted = [...]string{
	factsBucket, jobsBucket, liveBucket, overBucket, uidsBucket, namesBucket, keysBucket, channelsBucket,
}

var (
	formatKey = []byte("format")
	totalsKey = []byte("tally")
)

// totals describes the whole file. sum adds the seals of all records: it reveals an
// older page in the place of a newer one, which is well formed by itself.
type totals struct {
	last    messages.Seq // number of the newest fact ever recorded
	facts   uint64       // stored; they end with last
	number  uint64       // highest number of a short id
	over    uint64       // jobs that are over
	channel uint64       // stored channels
	records uint64
	bytes   uint64
	sum     uint64
}

func totalsFields(f *fields, t *totals) {
	uvarintField(f, 1, &t.last)
	uvarintField(f, 2, &t.facts)
	uvarintField(f, 3, &t.number)
	uvarintField(f, 4, &t.over)
	uvarintField(f, 5, &t.channel)
	uvarintField(f, 6, &t.records)
	uvarintField(f, 7, &t.bytes)
	uvarintField(f, 8, &t.sum)
}

func (t *totals) first() messages.Seq { return t.last - messages.Seq(t.facts) + 1 }

func (t *totals) count(key, value []byte) {
	t.records++
	t.bytes += uint64(len(key) + len(value))
	t.sum += uint64(binary.LittleEndian.Uint32(value))
}

func (t *totals) discount(key, value []byte) {
	t.records--
	t.bytes -= uint64(len(key) + len(value))
	t.sum -= uint64(binary.LittleEndian.Uint32(value))
}

// sealSize is the length of a value's seal: a CRC-32C of bucket, key and record before
// the record.
const sealSize = 4

var errSeal = errors.New("a record is not as written")

func seal(bucket string, key, body []byte) []byte {
	value := make([]byte, sealSize, sealSize+len(body))
	binary.LittleEndian.PutUint32(value, checksum(bucket, key, body))
	return append(value, body...)
}

func unseal(bucket string, key, value []byte) ([]byte, error) {
	if len(value) < sealSize || binary.LittleEndian.Uint32(value) != checksum(bucket, key, value[sealSize:]) {
		return nil, errSeal
	}
	return value[sealSize:], nil
}

func checksum(bucket string, key, body []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // cached by the library
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, body)
}

// txn is one read or one change. Every record passes put, delete and get.
type txn struct {
	tx      *bbolt.Tx
	totals  totals
	dirty   map[messages.JobID]*record // records to be written by the flush
	changed bool
	trimmed uint64 // facts removed
	forgot  []messages.UID
}

// layOut creates an empty journal.
func layOut(tx *bbolt.Tx) error {
	for _, name := range append(counted[:], metaBucket) {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	t := &txn{tx: tx}
	return errors.Join(mark(tx), t.end())
}

// mark raises the format of the file to Format, which includes all older ones.
func mark(tx *bbolt.Tx) error {
	f, format := fields{write: true}, uint64(Format)
	uvarintField(&f, 1, &format)
	b, value := tx.Bucket([]byte(metaBucket)), seal(metaBucket, formatKey, f.buf)
	if bytes.Equal(b.Get(formatKey), value) {
		return errUnchanged
	}
	return b.Put(formatKey, value)
}

func begin(tx *bbolt.Tx) (*txn, error) {
	t := &txn{tx: tx}
	body, err := unseal(metaBucket, totalsKey, t.bucket(metaBucket).Get(totalsKey))
	if err != nil {
		return nil, err
	}
	return t, decode(body, &t.totals, totalsFields)
}

// end writes the totals.
func (t *txn) end() error {
	return t.bucket(metaBucket).Put(totalsKey, seal(metaBucket, totalsKey, encode(&t.totals, totalsFields)))
}

// bucket returns a bucket. Buckets that grow only at their end are packed densely.
func (t *txn) bucket(name string) *bbolt.Bucket {
	b := t.tx.Bucket([]byte(name))
	if name == factsBucket || name == overBucket {
		b.FillPercent = 0.9
	}
	return b
}

func (t *txn) get(bucket string, key []byte) ([]byte, error) {
	value := t.bucket(bucket).Get(key)
	if value == nil {
		return nil, nil
	}
	return unseal(bucket, key, value)
}

func (t *txn) put(bucket string, key, body []byte) error {
	b := t.bucket(bucket)
	if old := b.Get(key); old != nil {
		t.totals.discount(key, old)
	}
	value := seal(bucket, key, body)
	t.totals.count(key, value)
	t.changed = true
	return b.Put(key, value)
}

func (t *txn) delete(bucket string, key []byte) error {
	b := t.bucket(bucket)
	old := b.Get(key)
	if old == nil {
		return nil
	}
	t.totals.discount(key, old)
	t.changed = true
	return b.Delete(key)
}
