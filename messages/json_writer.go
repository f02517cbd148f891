package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// object writes one JSON object, field by field. The bytes are those of
// encoding/json that escapes no HTML, which writes all texts that have anything
// to escape.
type jsonWriter struct {
	b   []byte
	err error // the first
}

// newJSONWriter opens one that has about so many bytes.
func newJSONWriter(size int) *jsonWriter { return &jsonWriter{b: append(make([]byte, 0, size), '{')} }

// done closes it.
func (o *jsonWriter) done() ([]byte, error) {
	o.close('}')
	return o.b, o.err
}

// name begins a field, or, if it is "", an element of a list.
func (o *jsonWriter) name(name string) {
	if last := o.b[len(o.b)-1]; last != '{' && last != '[' {
		o.b = append(o.b, ',')
	}
	if name == "" {
		return
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

// open begins an object or a list within, close ends it.
func (o *jsonWriter) open(name string, bracket byte) {
	o.name(name)
	o.b = append(o.b, bracket)
}

func (o *jsonWriter) close(bracket byte) { o.b = append(o.b, bracket) }

func (o *jsonWriter) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *jsonWriter) truth(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

// moment is a time, or null for the zero time.
func (o *jsonWriter) moment(name string, t time.Time) {
	if t.IsZero() {
		o.null(name)
		return
	}
	o.open(name, '"')
	b, err := t.UTC().AppendText(o.b)
	if err != nil {
		o.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	o.b = append(b, '"')
}

func (o *jsonWriter) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

func whole[T ~int | ~int64 | ~uint64](o *jsonWriter, name string, v T) {
	o.name(name)
	if v < 0 {
		o.b = strconv.AppendInt(o.b, int64(v), 10)
		return
	}
	o.b = strconv.AppendUint(o.b, uint64(v), 10)
}

func text[T ~string](o *jsonWriter, name string, v T) {
	o.name(name)
	o.quote(string(v))
}

// textOrNull is null for "", textIfAny leaves the field out.
func textOrNull[T ~string](o *jsonWriter, name string, v T) {
	if v == "" {
		o.null(name)
		return
	}
	text(o, name, v)
}

func textIfAny[T ~string](o *jsonWriter, name string, v T) {
	if v != "" {
		text(o, name, v)
	}
}

func texts[T ~string](o *jsonWriter, name string, list []T) {
	o.open(name, '[')
	for _, v := range list {
		text(o, "", v)
	}
	o.close(']')
}

// quote writes a string.
func (o *jsonWriter) quote(s string) {
	if plain(s) {
		o.b = append(o.b, '"')
		o.b = append(o.b, s...)
		o.b = append(o.b, '"')
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		o.fail(err)
		return
	}
	o.b = append(o.b, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// plain reports whether a string is ASCII that JSON writes as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
