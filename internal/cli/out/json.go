package out

import (
	"bytes"
	"encoding/json"
	"io"

	"troupe/messages"
)

// ErrorObject is what --json prints in place of a result.
type ErrorObject struct {
	V     int            `json:"v"`
	Error messages.Error `json:"error"`
}

// WriteJSON writes one object and a newline. What a terminal could take for a
// command is escaped; the value is the same.
func WriteJSON(w io.Writer, v any) error {
	b, err := PlainJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeJSON(b), '\n'))
	return err
}

// PlainJSON is json.Marshal for readers that are no browsers: & stays &.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
