package pi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"troupe/messages"
)

// Types of requests. A line that is no request is answered as kindParse.
const (
	kindBash  = "bash"
	kindAbort = "abort_bash"
	kindParse = "parse"
	// kindReply answers a question of the server. This one asks none, so it is late.
	kindReply = "extension_ui_response"
)

// maxName bounds an id and a type, in bytes: each event repeats the id.
const maxName = 4 << 10

// request is a line of the client.
type request struct {
	id      json.RawMessage // as the client wrote it; nil: none
	kind    string
	command string // of bash
}

// decode reads a line. After an error the request has what the answer needs.
func decode(line []byte) (request, error) {
	none := request{kind: kindParse}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	var all map[string]json.RawMessage
	var kind *json.UnmarshalTypeError
	switch err := json.Unmarshal(line, &all); {
	case errors.As(err, &kind):
		return none, invalid("line", "the line is %s; it must be an object", named(line))
	case err != nil:
		return none, invalid("line", "the line is not JSON: %v", err)
	case all == nil:
		return none, invalid("line", "the line is null; it must be an object")
	}
	if n := len(all["id"]); n > maxName {
		return none, invalid("id", "the id has %d bytes; at most %d are allowed", n, maxName)
	}
	r := request{id: all["id"], kind: kindParse}
	name, err := stringOf(all, "type")
	switch {
	case err != nil:
		return r, err
	case len(name) > maxName:
		return r, invalid("type", "the type has %d bytes; use %s or %s", len(name), kindBash, kindAbort)
	}
	r.kind = name
	if name == kindBash {
		err = r.bash(all)
	}
	return r, err
}

// bash reads the fields of a bash request. excludeFromContext is for the host, which has the
// context of the model: it changes nothing here.
func (r *request) bash(all map[string]json.RawMessage) (err error) {
	if r.command, err = stringOf(all, "command"); err != nil {
		return err
	}
	var exclude bool
	const name = "excludeFromContext"
	if text, given := all[name]; given && json.Unmarshal(text, &exclude) != nil {
		return invalid(name, "%s is %s; it must be true or false", name, named(text))
	}
	return nil
}

// stringOf returns a field that must be a string.
func stringOf(all map[string]json.RawMessage, name string) (string, error) {
	var text *string
	value, given := all[name]
	switch {
	case !given:
		return "", invalid(name, "%s is missing; it must be a string", name)
	case json.Unmarshal(value, &text) != nil || text == nil:
		return "", invalid(name, "%s is %s; it must be a string", name, named(value))
	}
	return *text, nil
}

// named names the type of a JSON value.
func named(value []byte) string {
	switch bytes.TrimLeft(value, " \t\r\n")[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func invalid(reason, why string, args ...any) error {
	return messages.Invalid(reason, fmt.Sprintf(why, args...))
}
