package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// jsonWriter writes one JSON object field by field. Its bytes equal those of
// encoding/json without HTML escaping. It hands texts that need escapes to encoding/json.
type jsonWriter struct {
	b   []byte
	err error // the first one
}

// newJSONWriter begins an object and reserves size bytes.
func newJSONWriter(size int) *jsonWriter { return &jsonWriter{b: append(make([]byte, 0, size), '{')} }

// done ends the object and returns it.
func (o *jsonWriter) done() ([]byte, error) {
	o.close('}')
	return o.b, o.err
}

// name begins a field, or an element of a list if name is "".
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

// open begins a nested object or list; close ends it.
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

// moment writes a time, or null for the zero time.
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

// textOrNull writes null for "". textIfAny leaves the field out.
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

// plain reports whether s is ASCII text without characters that JSON escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
