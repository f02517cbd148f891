package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// Each command waits while its request and its job object are decoded, which takes 15
// and 30 µs by reflection. So these are read field by field. Anything that our own
// client and server do not write returns errSurprise: a duplicate key, a capital
// letter, half a character, invalid JSON. Then encoding/json reads the whole object
// again, and its result counts.

var errSurprise = errors.New("not as we write it")

// field is a field of objects of type T and the function that reads its value.
type field[T any] struct {
	name string
	read func(*jx.Decoder, *T) error
}

// read reads one object of a reply, which may have unknown fields of a newer server.
func read[T any](d *jx.Decoder, fields []field[T], into *T) error {
	return readObject(d, fields, into, func(key []byte) error {
		if !lower(key) {
			return errSurprise // encoding/json ignores the case of names
		}
		return d.Skip()
	})
}

// readStrictly reads one object of a request, which has only these fields.
func readStrictly[T any](d *jx.Decoder, fields []field[T], into *T) error {
	return readObject(d, fields, into, func([]byte) error { return errSurprise })
}

// readObject reads an object. Its fields usually come in the given order.
func readObject[T any](d *jx.Decoder, fields []field[T], into *T, unknown func(key []byte) error) error {
	var seen uint64
	next := 0
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		i, known := find(fields, next, key)
		switch {
		case !known:
			return unknown(key)
		case seen&(1<<i) != 0:
			return errSurprise
		}
		seen |= 1 << i
		next = i + 1
		return fields[i].read(d, into)
	})
}

// find finds a field by name, starting at next.
func find[T any](fields []field[T], next int, key []byte) (int, bool) {
	for k := range fields {
		i := next + k
		if i >= len(fields) {
			i -= len(fields)
		}
		if fields[i].name == string(key) {
			return i, true
		}
	}
	return 0, false
}

// lower reports whether a key is in lower case, so that encoding/json matches no other
// name.
func lower(key []byte) bool {
	for _, c := range key {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// readAll reads a text that consists of one object. It reports false for a surprise;
// into may be partly filled then.
func readAll[T any](b []byte, into *T, object func(*jx.Decoder, *T) error) bool {
	if !utf8.Valid(b) || bytes.Contains(b, []byte(`\ud`)) || bytes.Contains(b, []byte(`\uD`)) {
		return false
	}
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(b)
	return object(d, into) == nil && d.Skip() == io.EOF //nolint:errorlint // nothing else is the end
}

// The functions below read values. A null leaves the target as it is.

func null(d *jx.Decoder) bool { return d.Next() == jx.Null }

func text[S ~string](d *jx.Decoder, into *S) error {
	if null(d) {
		return d.Null()
	}
	b, err := d.StrBytes()
	*into = S(b)
	return err
}

func whole[I ~int | ~int64](d *jx.Decoder, into *I) error {
	if null(d) {
		return d.Null()
	}
	n, err := d.Int64()
	if *into = I(n); int64(*into) != n {
		return errSurprise
	}
	return err
}

func optionalBool(d *jx.Decoder, into *bool) (err error) {
	if null(d) {
		return d.Null()
	}
	*into, err = d.Bool()
	return err
}

// fieldSet reads an optional value.
func fieldSet[T any](d *jx.Decoder, into **T, value func(*jx.Decoder, *T) error) error {
	if null(d) {
		return d.Null()
	}
	*into = new(T)
	return value(d, *into)
}

func list[T any](d *jx.Decoder, into *[]T, element func(*jx.Decoder, *T) error) error {
	if null(d) {
		return d.Null()
	}
	*into = []T{}
	return d.Arr(func(d *jx.Decoder) error {
		var one T
		if err := element(d, &one); err != nil {
			return err
		}
		*into = append(*into, one)
		return nil
	})
}

func texts[S ~string](d *jx.Decoder, into *[]S) error { return list(d, into, text[S]) }

// rest leaves rare values, and types with their own decoder, to encoding/json.
func rest[T any](d *jx.Decoder, into *T) error {
	if null(d) {
		return d.Null()
	}
	b, err := d.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
