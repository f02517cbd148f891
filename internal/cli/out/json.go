package out

import (
	"bytes"
	"encoding/json"
	"io"

	"troupe/messages"
)

// ErrorObject is the object that --json prints instead of a result.
type ErrorObject struct {
	V     int            `json:"v"`
	Error messages.Error `json:"error"`
}

// WriteJSON writes one object and a newline. It escapes characters that act on a terminal,
// which does not change the value.
func WriteJSON(w io.Writer, v any) error {
	b, err := PlainJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeJSON(b), '\n'))
	return err
}

// PlainJSON marshals like json.Marshal, but does not escape &, < and >.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// List returns v, which is never null in JSON.
func List[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
