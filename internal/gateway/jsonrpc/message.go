package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Codes of errors.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32000
	CodeBusy           = -32001
)

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

func invalid(format string, values ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, values...)}
}

// message is a request, a notification or a response of the client.
type message struct {
	id     json.RawMessage // as the client wrote it; nil: a notification
	method string
	params json.RawMessage // an object or a list; nil: none

	answers bool // it is a response
	result  json.RawMessage
	failure *Error

	bad *Error // why it is none of these; nil: it is one
}

// parse returns the messages of a line, and whether they are a batch. The error is that of
// the whole line.
func parse(line []byte) (all []message, batch bool, err *Error) {
	broken := &Error{Code: CodeParse, Message: "the line is not JSON in UTF-8"}
	if !utf8.Valid(line) {
		return nil, false, broken
	}
	if line[0] != '[' {
		m, isJSON := parseOne(line)
		if !isJSON {
			return nil, false, broken
		}
		return []message{m}, false, nil
	}
	var parts []json.RawMessage
	switch failed := json.Unmarshal(line, &parts); {
	case failed != nil:
		return nil, false, broken
	case len(parts) == 0 || len(parts) > maxBatch:
		return nil, false, invalid("a batch has from 1 to %d requests", maxBatch)
	}
	for _, part := range parts {
		m, _ := parseOne(part)
		all = append(all, m)
	}
	return all, true, nil
}

// parseOne parses one message. isJSON is false for a text that is no JSON at all.
func parseOne(text []byte) (m message, isJSON bool) {
	var fields map[string]json.RawMessage // exact names, unlike those of a struct
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		_, broken := errors.AsType[*json.SyntaxError](err)
		return message{bad: invalid("a request is an object")}, !broken
	}
	return readMessage(fields), true
}

// readMessage reads the fields of a message.
func readMessage(fields map[string]json.RawMessage) message {
	m := message{id: fields["id"], result: fields["result"]}
	method, asks := fields["method"]
	failure, failed := fields["error"]
	m.answers = !asks && (failed || m.result != nil)
	var version string
	switch {
	case m.id != nil && !isID(m.id):
		m.id, m.bad = nil, invalid("the id must be a string, a number or null")
	case json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0":
		m.bad = invalid(`jsonrpc must be "2.0"`)
	case m.answers:
		if failed {
			m.failure = readError(failure)
		}
	case !asks:
		m.bad = invalid("there is no method")
	case json.Unmarshal(method, &m.method) != nil || method[0] != '"':
		m.bad = invalid("the method must be a string")
	default:
		m.params, m.bad = readParams(fields["params"])
	}
	return m
}

// isID reports whether a value may be an id.
func isID(v json.RawMessage) bool {
	return v[0] == '"' || v[0] == '-' || v[0] >= '0' && v[0] <= '9' || string(v) == "null"
}

func readParams(v json.RawMessage) (json.RawMessage, *Error) {
	switch {
	case v == nil, string(v) == "null":
		return nil, nil
	case v[0] == '{', v[0] == '[':
		return v, nil
	}
	return nil, invalid("params must be an object or a list")
}

// readError returns the error of a response of the client, also of a malformed one.
func readError(v json.RawMessage) *Error {
	var e Error
	if json.Unmarshal(v, &e) != nil || e.Message == "" {
		e.Message = "an error without a message"
	}
	return &e
}

// success and failure are what the client gets for a request.
type success struct {
	V      string          `json:"jsonrpc"`
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
}

type failure struct {
	V     string          `json:"jsonrpc"`
	ID    json.RawMessage `json:"id"`
	Error *Error          `json:"error"`
}

// respond returns the response to a request. A nil id is null: it could not be read.
func respond(id json.RawMessage, result any, err *Error) rendering {
	if id == nil {
		id = json.RawMessage("null")
	}
	return func() []byte {
		if err == nil {
			text, failed := encode(success{"2.0", id, result})
			if failed == nil {
				return text
			}
			err = &Error{Code: CodeInternal, Message: "the result cannot be encoded: " + failed.Error()}
		}
		text, _ := encode(failure{"2.0", id, err}) // of strings, numbers and valid JSON
		return text
	}
}

// encode renders a value in one line, without escapes that only HTML needs.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
