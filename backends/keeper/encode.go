package keeper

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// A body is an encoded value, in messages and in the journal. It takes a tenth of JSON's time,
// and keeps any bytes. The encoding, by kind:
//
//   - struct: each field that is not zero, as tag of its name, length and value
//   - list: each element as length and value
//   - map of strings: the list of its keys in order, each followed by its value
//   - number: varint; time: seconds and nanoseconds; pointer: what it points to
//
// Unknown fields are skipped and missing ones are zero, so that versions can differ by fields.

// encode returns the body of a value. Tests ensure that all values sent have one.
func encode(v any) []byte {
	p, err := appendBody(nil, v)
	if err != nil {
		return nil
	}
	return p
}

func appendBody(p []byte, v any) ([]byte, error) {
	return appendValue(p, reflect.Indirect(reflect.ValueOf(v)))
}

// decode returns the value of a body.
func decode[T any](body []byte) (T, error) {
	var v T
	if err := readValue(body, reflect.ValueOf(&v).Elem()); err != nil {
		return v, malformed("a body: " + err.Error())
	}
	return v, nil
}

// tagOf returns the tag of a field: its wire name in two bytes (FNV-1a, folded). Unexported
// fields are not sent.
func tagOf(f reflect.StructField) (tag uint16, travels bool) {
	name := wireName(f)
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return uint16(h ^ h>>16), f.IsExported()
}

// wireName returns the name of a field on the wire and in the journal. A field that is
// renamed keeps it in the struct tag wire, so that keepers of other builds still know it.
func wireName(f reflect.StructField) string {
	return cmp.Or(f.Tag.Get("wire"), f.Name)
}

func isTime(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Time]() }

func appendValue(p []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(p, 1), nil
		}
		return append(p, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(p, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(p, v.Uint()), nil
	case reflect.String:
		return append(p, v.String()...), nil
	case reflect.Slice, reflect.Array:
		return appendList(p, v)
	case reflect.Struct:
		return appendStruct(p, v)
	case reflect.Map:
		return appendTable(p, v)
	case reflect.Pointer:
		if v.IsNil() { // a nil field is zero, and does not come here
			return p, errors.New("a nil pointer has no body")
		}
		return appendValue(p, v.Elem())
	default:
		return p, fmt.Errorf("%s has no body", v.Type())
	}
}

func appendList(p []byte, v reflect.Value) (_ []byte, err error) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return append(p, v.Bytes()...), nil
	}
	for i := range v.Len() {
		if p, err = appendBoxed(p, v.Index(i)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// appendTable appends a map of strings to strings.
func appendTable(p []byte, v reflect.Value) ([]byte, error) {
	table, ok := v.Interface().(map[string]string)
	if !ok {
		return p, fmt.Errorf("%s has no body", v.Type())
	}
	list := make([]string, 0, 2*len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, name, table[name])
	}
	return appendList(p, reflect.ValueOf(list))
}

func appendStruct(p []byte, v reflect.Value) ([]byte, error) {
	if isTime(v) {
		at := v.Interface().(time.Time)
		p = binary.LittleEndian.AppendUint64(p, uint64(at.Unix()))
		return binary.LittleEndian.AppendUint32(p, uint32(at.Nanosecond())), nil
	}
	var err error
	for i := range v.NumField() {
		of := v.Field(i)
		if of.IsZero() {
			continue
		}
		tag, travels := tagOf(v.Type().Field(i))
		if !travels {
			continue
		}
		p = binary.LittleEndian.AppendUint16(p, tag)
		if p, err = appendBoxed(p, of); err != nil {
			return p, err
		}
	}
	return p, nil
}

// appendBoxed appends a value after its length, of one byte if possible.
func appendBoxed(p []byte, v reflect.Value) ([]byte, error) {
	at := len(p)
	p, err := appendValue(append(p, 0), v)
	if err != nil {
		return p, err
	}
	size := len(p) - at - 1
	if size < 0x80 {
		p[at] = byte(size)
		return p, nil
	}
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(size))
	p = append(p, head[1:n]...) // room for the rest of the length
	copy(p[at+n:], p[at+1:at+1+size])
	copy(p[at:], head[:n])
	return p, nil
}

var errCut = errors.New("it is cut off")

// unbox returns the value after a length, and the rest.
func unbox(p []byte) (box, rest []byte, err error) {
	size, n := binary.Uvarint(p)
	if n <= 0 || size > uint64(len(p)-n) {
		return nil, nil, errCut
	}
	return p[n : n+int(size)], p[n+int(size):], nil
}

func readValue(p []byte, into reflect.Value) error {
	switch into.Kind() {
	case reflect.Bool:
		if len(p) != 1 {
			return errCut
		}
		into.SetBool(p[0] != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, size := binary.Varint(p)
		if size <= 0 || into.OverflowInt(n) {
			return fmt.Errorf("a number of %s", into.Type())
		}
		into.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, size := binary.Uvarint(p)
		if size <= 0 || into.OverflowUint(n) {
			return fmt.Errorf("a number of %s", into.Type())
		}
		into.SetUint(n)
	case reflect.String:
		into.SetString(string(p))
	case reflect.Slice, reflect.Array:
		return readList(p, into)
	case reflect.Struct:
		return readStruct(p, into)
	case reflect.Map:
		return readTable(p, into)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return readValue(p, into.Elem())
	default:
		return fmt.Errorf("%s has no body", into.Type())
	}
	return nil
}

func readList(p []byte, into reflect.Value) error {
	if into.Kind() == reflect.Slice && into.Type().Elem().Kind() == reflect.Uint8 {
		into.SetBytes(append([]byte{}, p...))
		return nil
	}
	if into.Kind() == reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	}
	for i := 0; len(p) > 0; i++ {
		box, rest, err := unbox(p)
		if err != nil {
			return err
		}
		p = rest
		switch {
		case into.Kind() == reflect.Slice:
			into.Grow(1)
			into.SetLen(i + 1)
		case i == into.Len():
			return nil // the other side has a longer array
		}
		if err := readValue(box, into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func readTable(p []byte, into reflect.Value) error {
	list := []string{}
	err := readList(p, reflect.ValueOf(&list).Elem())
	switch {
	case err != nil:
		return err
	case len(list)%2 != 0 || into.Type() != reflect.TypeFor[map[string]string]():
		return fmt.Errorf("a table of %s", into.Type())
	}
	table := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		table[list[i]] = list[i+1]
	}
	into.Set(reflect.ValueOf(table))
	return nil
}

func readStruct(p []byte, into reflect.Value) error {
	if isTime(into) {
		if len(p) < 12 {
			return errCut
		}
		into.Set(reflect.ValueOf(time.Unix(int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint32(p[8:])))))
		return nil
	}
	for next := 0; len(p) > 0; {
		if len(p) < 2 {
			return errCut
		}
		tag := binary.LittleEndian.Uint16(p)
		box, rest, err := unbox(p[2:])
		if err != nil {
			return err
		}
		p = rest
		for i, n := next, into.NumField(); i < next+n; i++ { // usually in the order of this side
			if this, travels := tagOf(into.Type().Field(i % n)); !travels || this != tag {
				continue
			}
			if err := readValue(box, into.Field(i%n)); err != nil {
				return err
			}
			next = i%n + 1
			break
		}
	}
	return nil
}
