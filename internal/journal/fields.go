package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// fields is one message in protobuf's wire format; zero values are omitted. One list of
// a record's fields both writes and reads it, so that the two agree. Numbers ascend and
// are never reused. A reader skips unknown numbers, which a newer troupe has written.
type fields struct {
	write bool
	buf   []byte // written bytes, or bytes left to read
	last  uint64 // last field number read
	err   error
}

// Wire types of protobuf.
const (
	varint    = 0
	fixed64   = 1
	delimited = 2
	fixed32   = 5
)

var errWire = errors.New("invalid fields")

func (f *fields) fail(why string) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: %s", errWire, why)
	}
	f.buf = nil
}

// next reads up to field n and reports whether it exists.
func (f *fields) next(n, kind uint64) bool {
	for len(f.buf) > 0 {
		tag, size := binary.Uvarint(f.buf)
		number := tag >> 3
		switch {
		case size <= 0 || number == 0:
			f.fail("a field has no number")
			return false
		case number < f.last:
			f.fail("a field is out of order")
			return false
		case number > n:
			return false
		}
		f.buf, f.last = f.buf[size:], number
		if number < n {
			f.skip(tag & 7)
			continue
		}
		if tag&7 != kind {
			f.fail("a field has the wrong type")
			return false
		}
		return true
	}
	return false
}

func (f *fields) skip(kind uint64) {
	switch kind {
	case varint:
		f.uvarint()
	case fixed64:
		f.take(8)
	case delimited:
		f.take(f.uvarint())
	case fixed32:
		f.take(4)
	default:
		f.fail("a field has an unknown type")
	}
}

// end skips the rest of the message and returns its error.
func (f *fields) end() error {
	f.next(math.MaxUint64, varint)
	return f.err
}

func (f *fields) uvarint() uint64 {
	v, size := binary.Uvarint(f.buf)
	if size <= 0 {
		f.fail("a number is cut off")
		return 0
	}
	f.buf = f.buf[size:]
	return v
}

func (f *fields) take(size uint64) []byte {
	if size > uint64(len(f.buf)) {
		f.fail("a field is cut off")
		return nil
	}
	b := f.buf[:size]
	f.buf = f.buf[size:]
	return b
}

func (f *fields) tag(n, kind uint64) { f.buf = binary.AppendUvarint(f.buf, n<<3|kind) }

// uvarintField reads or writes an unsigned number.
func uvarintField[T ~uint8 | ~uint64](f *fields, n uint64, p *T) {
	switch {
	case f.write && *p != 0:
		f.tag(n, varint)
		f.buf = binary.AppendUvarint(f.buf, uint64(*p))
	case !f.write && f.next(n, varint):
		v := f.uvarint()
		*p = T(v)
		if uint64(*p) != v {
			f.fail("a number is too large")
		}
	}
}

// integer reads or writes a signed number.
func integer[T ~int8 | ~int | ~int64](f *fields, n uint64, p *T) {
	zigzag := uint64(*p)<<1 ^ uint64(int64(*p)>>63)
	uvarintField(f, n, &zigzag)
	if !f.write {
		v := int64(zigzag>>1) ^ -int64(zigzag&1)
		*p = T(v)
		if int64(*p) != v {
			f.fail("a number is too large")
		}
	}
}

func flag(f *fields, n uint64, p *bool) {
	var v uint64
	if *p {
		v = 1
	}
	uvarintField(f, n, &v)
	if !f.write { // a written record may have concurrent readers
		*p = v != 0
	}
}

// text reads or writes a string of any bytes.
func text[T ~string](f *fields, n uint64, p *T) {
	switch {
	case f.write && *p != "":
		f.string(n, string(*p))
	case !f.write && f.next(n, delimited):
		*p = T(f.take(f.uvarint()))
	}
}

func (f *fields) string(n uint64, s string) {
	f.tag(n, delimited)
	f.buf = binary.AppendUvarint(f.buf, uint64(len(s)))
	f.buf = append(f.buf, s...)
}

// nested reads or writes an embedded record; an empty one is omitted.
func nested[T any](f *fields, n uint64, p *T, each func(*fields, *T)) {
	switch {
	case f.write:
		begin := len(f.buf)
		if size := put(f, n, p, each); size == 0 {
			f.buf = f.buf[:begin]
		}
	case f.next(n, delimited):
		inside(f, p, each)
	}
}

// optional reads or writes an embedded record that may be missing. An empty one is written.
func optional[T any](f *fields, n uint64, p **T, each func(*fields, *T)) {
	switch {
	case f.write && *p != nil:
		put(f, n, *p, each)
	case !f.write && f.next(n, delimited):
		*p = new(T)
		inside(f, *p, each)
	}
}

// put writes an embedded record and returns its size.
func put[T any](f *fields, n uint64, p *T, each func(*fields, *T)) int {
	f.tag(n, delimited)
	at := len(f.buf)
	f.buf = append(f.buf, 0) // placeholder of the size, mostly one byte
	each(f, p)
	size := len(f.buf) - at - 1
	var form [binary.MaxVarintLen64]byte
	long := binary.PutUvarint(form[:], uint64(size))
	f.buf = append(f.buf, form[1:long]...)
	copy(f.buf[at+long:], f.buf[at+1:at+1+size])
	copy(f.buf[at:], form[:long])
	return size
}

// list reads or writes records in order. An empty list is read as nil.
func list[T any](f *fields, n uint64, p *[]T, each func(*fields, *T)) {
	if f.write {
		for i := range *p {
			put(f, n, &(*p)[i], each)
		}
		return
	}
	for f.next(n, delimited) {
		var v T
		inside(f, &v, each)
		*p = append(*p, v)
	}
}

// texts reads or writes strings in order.
func texts[T ~string](f *fields, n uint64, p *[]T) {
	if f.write {
		for _, s := range *p {
			f.string(n, string(s))
		}
		return
	}
	for f.next(n, delimited) {
		*p = append(*p, T(f.take(f.uvarint())))
	}
}

// moment reads or writes a time, in UTC and without a monotonic reading.
func moment(f *fields, n uint64, p *time.Time) {
	switch {
	case f.write && !p.IsZero():
		put(f, n, p, momentFields)
	case !f.write && f.next(n, delimited):
		inside(f, p, momentFields)
	}
}

func momentFields(f *fields, t *time.Time) {
	sec, nsec := t.Unix(), int64(t.Nanosecond())
	if !f.write {
		sec, nsec = 0, 0
	}
	integer(f, 1, &sec)
	integer(f, 2, &nsec)
	if !f.write {
		*t = time.Unix(sec, nsec).UTC()
	}
}

// usualSize is enough for the record of most jobs, in bytes.
const usualSize = 384

func encode[T any](p *T, each func(*fields, *T)) []byte {
	f := fields{write: true, buf: make([]byte, 0, usualSize)}
	each(&f, p)
	return f.buf
}

func decode[T any](b []byte, p *T, each func(*fields, *T)) error {
	f := fields{buf: b}
	each(&f, p)
	return f.end()
}

// inside reads an embedded record.
func inside[T any](f *fields, p *T, each func(*fields, *T)) {
	b := f.take(f.uvarint())
	if err := decode(b, p, each); err != nil && f.err == nil {
		f.err, f.buf = err, nil
	}
}
