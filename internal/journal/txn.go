package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"troupe/messages"
)

// Format is the number of the file's format. It is raised when an older troupe
// could not read what is written, or would read it wrongly: by a new kind of
// fact, never by a new field.
const Format = 2

// The buckets.
const (
	metaBucket     = "meta"     // format, tally
	factsBucket    = "facts"    // number: fact
	jobsBucket     = "jobs"     // id: record
	liveBucket     = "live"     // number of its first fact: id
	overBucket     = "over"     // number of its last fact: id
	uidsBucket     = "uids"     // ULID: id
	namesBucket    = "names"    // name, number of its first fact: id
	keysBucket     = "keys"     // hash of principal and key: id
	channelsBucket = "channels" // id: channel
)

// counted are the buckets whose records the tally counts.
var counted = [...]string{
	factsBucket, jobsBucket, liveBucket, overBucket, uidsBucket, namesBucket, keysBucket, channelsBucket,
}

var (
	formatKey = []byte("format")
	totalsKey = []byte("tally")
)

// totals is what is known of the whole. sum is that of the seals of all records:
// a page that another commit has left in the place of a newer one is well formed
// by itself, and only missed by its sum.
type totals struct {
	last    messages.Seq // the number of the newest fact, for ever
	facts   uint64       // held; they end with last
	number  uint64       // the highest of a short id
	over    uint64       // jobs
	channel uint64       // channels
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

// Each value is sealed: a CRC-32C of the bucket, the key and the record stands
// before it.
const sealSize = 4

var errSeal = errors.New("a record is not what was written")

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
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // made once, by the library
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, body)
}

// txn is one look or one change. Every record passes its put, delete and get.
type txn struct {
	tx      *bbolt.Tx
	totals  totals
	dirty   map[messages.JobID]*record // of jobs, still to be written
	changed bool
	trimmed uint64 // facts
	forgot  []messages.UID
}

// layOut makes an empty journal.
func layOut(tx *bbolt.Tx) error {
	for _, name := range append(counted[:], metaBucket) {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	t := &txn{tx: tx}
	return errors.Join(mark(tx), t.end())
}

// mark makes the file one of this format. An older one is a part of it.
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

// end writes what has changed of the whole.
func (t *txn) end() error {
	return t.bucket(metaBucket).Put(totalsKey, seal(metaBucket, totalsKey, encode(&t.totals, totalsFields)))
}

// bucket gives a bucket; those that only grow at their end are packed full.
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
