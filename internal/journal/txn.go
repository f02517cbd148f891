package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"troupe/internal/codec"
	"troupe/messages"
)

// Format is the number of the file's format. A new kind of fact raises it, since an
// older troupe would misread the file; a new field does not. Files of older formats are
// rewritten once (migrate).
const Format = 3

// Buckets and their keys: values.
const (
	metaBucket     = "meta"     // format, totals, ends, origins
	factsBucket    = "facts"    // number: fact
	jobsBucket     = "jobs"     // id: record
	liveBucket     = "live"     // number of its first fact: id
	overBucket     = "over"     // number of its last fact: id
	uidsBucket     = "uids"     // ULID: id
	keysBucket     = "keys"     // hash of principal and key: id
	channelsBucket = "channels" // id: channel
)

// counted lists the buckets whose records the totals count.
var counted = [...]string{
	factsBucket, jobsBucket, liveBucket, overBucket, uidsBucket, keysBucket, channelsBucket,
}

var (
	formatKey = []byte("format")
	totalsKey = []byte("tally")
)

// totals describes the whole file. Sum adds the seals of all records: it reveals an
// older page in the place of a newer one, which is well formed by itself.
type totals struct {
	Last    messages.Seq `cbor:"1,keyasint,omitzero"` // number of the newest fact ever recorded
	Facts   uint64       `cbor:"2,keyasint,omitzero"` // stored; they end with Last
	Number  uint64       `cbor:"3,keyasint,omitzero"` // highest number of a short id
	Over    uint64       `cbor:"4,keyasint,omitzero"` // jobs that are over
	Channel uint64       `cbor:"5,keyasint,omitzero"` // stored channels
	Records uint64       `cbor:"6,keyasint,omitzero"`
	Bytes   uint64       `cbor:"7,keyasint,omitzero"`
	Sum     uint64       `cbor:"8,keyasint,omitzero"`
}

func (t *totals) first() messages.Seq { return t.Last - messages.Seq(t.Facts) + 1 }

func (t *totals) count(key, value []byte) {
	t.Records++
	t.Bytes += uint64(len(key) + len(value))
	t.Sum += uint64(binary.LittleEndian.Uint32(value))
}

func (t *totals) discount(key, value []byte) {
	t.Records--
	t.Bytes -= uint64(len(key) + len(value))
	t.Sum -= uint64(binary.LittleEndian.Uint32(value))
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
	return errors.Join(mark(tx, Format), t.end())
}

// formatTag precedes the number of the format, as in the first one.
const formatTag = 8

// mark stores the number of a format.
func mark(tx *bbolt.Tx, format uint64) error {
	body := binary.AppendUvarint([]byte{formatTag}, format)
	return tx.Bucket([]byte(metaBucket)).Put(formatKey, seal(metaBucket, formatKey, body))
}

// formatOf returns the number that mark stored.
func formatOf(body []byte) (uint64, error) {
	if len(body) < 2 || body[0] != formatTag {
		return 0, errors.New("it has no format")
	}
	format, size := binary.Uvarint(body[1:])
	if size <= 0 || format == 0 {
		return 0, errors.New("it has no format")
	}
	return format, nil
}

func begin(tx *bbolt.Tx) (*txn, error) {
	t := &txn{tx: tx}
	body, err := unseal(metaBucket, totalsKey, t.bucket(metaBucket).Get(totalsKey))
	if err != nil {
		return nil, err
	}
	t.totals, err = decode[totals](body)
	return t, err
}

// end writes the totals.
func (t *txn) end() error {
	body, err := codec.Encode(t.totals)
	if err != nil {
		return err
	}
	return t.bucket(metaBucket).Put(totalsKey, seal(metaBucket, totalsKey, body))
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
