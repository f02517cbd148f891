package former

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// fields is what is left to read of one message. Numbers of fields ascend; those that are
// unknown are skipped, those that are missing leave the zero value.
type fields struct {
	buf  []byte
	last uint64 // last field number read
	err  error
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

// unsigned reads an unsigned number.
func unsigned[T ~uint8 | ~uint64](f *fields, n uint64, p *T) {
	if !f.next(n, varint) {
		return
	}
	v := f.uvarint()
	*p = T(v)
	if uint64(*p) != v {
		f.fail("a number is too large")
	}
}

// integer reads a signed number.
func integer[T ~int8 | ~int32 | ~int | ~int64](f *fields, n uint64, p *T) {
	var zigzag uint64
	unsigned(f, n, &zigzag)
	v := int64(zigzag>>1) ^ -int64(zigzag&1)
	*p = T(v)
	if int64(*p) != v {
		f.fail("a number is too large")
	}
}

func flag(f *fields, n uint64, p *bool) {
	var v uint64
	unsigned(f, n, &v)
	*p = v != 0
}

// text reads a string of any bytes.
func text[T ~string](f *fields, n uint64, p *T) {
	if f.next(n, delimited) {
		*p = T(f.take(f.uvarint()))
	}
}

// nested reads an embedded record.
func nested[T any](f *fields, n uint64, p *T, each func(*fields, *T)) {
	if f.next(n, delimited) {
		inside(f, p, each)
	}
}

// optional reads an embedded record that may be missing.
func optional[T any](f *fields, n uint64, p **T, each func(*fields, *T)) {
	if f.next(n, delimited) {
		*p = new(T)
		inside(f, *p, each)
	}
}

// list reads records in order.
func list[T any](f *fields, n uint64, p *[]T, each func(*fields, *T)) {
	for f.next(n, delimited) {
		var v T
		inside(f, &v, each)
		*p = append(*p, v)
	}
}

// texts reads strings in order.
func texts[T ~string](f *fields, n uint64, p *[]T) {
	for f.next(n, delimited) {
		*p = append(*p, T(f.take(f.uvarint())))
	}
}

// moment reads a time.
func moment(f *fields, n uint64, p *time.Time) { nested(f, n, p, momentFields) }

func momentFields(f *fields, t *time.Time) {
	var sec, nsec int64
	integer(f, 1, &sec)
	integer(f, 2, &nsec)
	*t = time.Unix(sec, nsec).UTC()
}

// read reads a whole message.
func read[T any](b []byte, each func(*fields, *T)) (v T, err error) {
	f := fields{buf: b}
	each(&f, &v)
	f.next(math.MaxUint64, varint) // what follows is unknown
	return v, f.err
}

// inside reads an embedded record.
func inside[T any](f *fields, p *T, each func(*fields, *T)) {
	v, err := read(f.take(f.uvarint()), each)
	if *p = v; err != nil && f.err == nil {
		f.err, f.buf = err, nil
	}
}
