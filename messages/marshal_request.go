package messages

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The JSON of requests: strict, by tags, with these rules for types. A duration is whole
// milliseconds; a grace of 0 is none, and one that is left out is the default. A text that is
// not UTF-8 is {"base64": "…"} in place of the string. A null field is the same as an absent one.
var (
	requestWriters = sync.OnceValue(func() json.Options {
		return json.WithMarshalers(json.JoinMarshalers(
			json.MarshalToFunc(writeText[string]), json.MarshalToFunc(writeText[JobID]), json.MarshalToFunc(writeText[ScopePath]), json.MarshalToFunc(writeText[SessionID]),
			json.MarshalToFunc(writeSpan), json.MarshalToFunc(writeInput), json.MarshalToFunc(writeShutdown),
		))
	})
	requestReaders = sync.OnceValue(func() json.Options {
		return json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(readText[string]), json.UnmarshalFromFunc(readText[JobID]), json.UnmarshalFromFunc(readText[ScopePath]), json.UnmarshalFromFunc(readText[SessionID]),
			json.UnmarshalFromFunc(readList[string]), json.UnmarshalFromFunc(readList[JobID]), json.UnmarshalFromFunc(readBool),
			json.UnmarshalFromFunc(readSpan), json.UnmarshalFromFunc(readTerminal), json.UnmarshalFromFunc(readInput), json.UnmarshalFromFunc(readShutdown),
		)))
	})
)

// MarshalRequest returns a request as JSON.
func MarshalRequest(v any) ([]byte, error) { return json.Marshal(v, requestWriters()) }

// UnmarshalRequest reads a request. It refuses names that it does not know or that are given
// twice. v may be partly filled then. The error may hold an *Error.
func UnmarshalRequest(b []byte, v any) error { return json.Unmarshal(b, v, requestReaders()) }

// base64Text is a text of any bytes.
type base64Text struct {
	Base64 string `json:"base64"`
}

func writeText[T ~string](e *jsontext.Encoder, s T) error {
	if utf8.ValidString(string(s)) {
		return errors.ErrUnsupported // as usual
	}
	return json.MarshalEncode(e, base64Text{base64.StdEncoding.EncodeToString([]byte(s))})
}

func readText[T ~string](d *jsontext.Decoder, into *T) error {
	if d.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	var text base64Text
	if err := json.UnmarshalDecode(d, &text); err != nil {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(text.Base64)
	if err != nil {
		field := d.StackPointer().LastToken()
		return Invalid(field, "invalid base64 in "+field+": "+err.Error())
	}
	*into = T(b)
	return nil
}

// readBool passes over null: what is absent may mean true.
func readBool(d *jsontext.Decoder, _ *bool) error {
	if d.PeekKind() != 'n' {
		return errors.ErrUnsupported // as usual
	}
	return d.SkipValue()
}

// ErrNullElement refuses null as an element of a list, which would be read as an empty one.
var ErrNullElement = errors.New("null element")

func readList[T ~string](d *jsontext.Decoder, into *[]T) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // null, or an error
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*into = []T{}
	for d.PeekKind() != ']' {
		if d.PeekKind() == 'n' {
			if err := d.SkipValue(); err != nil {
				return err
			}
			return &json.SemanticError{JSONPointer: d.StackPointer(), Err: ErrNullElement}
		}
		var one T
		if err := json.UnmarshalDecode(d, &one); err != nil {
			return err
		}
		*into = append(*into, one)
	}
	_, err := d.ReadToken()
	return err
}

// SpanMS returns a duration of a request in milliseconds, rounded up; a negative one is 0. A
// grace saturates at MaxDuration, since a node takes any: an overflow would kill at once. Another
// duration above it is left for the daemon to refuse.
func SpanMS(field string, d time.Duration) int64 {
	if field == "grace_ms" {
		d = min(d, MaxDuration)
	}
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return max(0, ms)
}

// writeSpan writes a duration in milliseconds.
func writeSpan(e *jsontext.Encoder, d time.Duration) error {
	return e.WriteToken(jsontext.Int(SpanMS(e.StackPointer().LastToken(), d)))
}

func readSpan(d *jsontext.Decoder, into *time.Duration) error {
	var ms *int64
	if err := json.UnmarshalDecode(d, &ms); err != nil || ms == nil {
		return err
	}
	const most = int64(MaxDuration / time.Millisecond)
	switch field := d.StackPointer().LastToken(); {
	case field == "grace_ms" && *ms == 0:
		*into = -1
		return nil
	case field == "grace_ms" && (*ms < 0 || *ms > most):
		return Invalid(field, "grace_ms must be a number of milliseconds, 0 to kill at once, at most ten years; leave it out for the usual grace")
	case *ms < 1 || *ms > most:
		return Invalid(field, field+" must be a positive number of milliseconds, at most ten years; leave it out for none")
	}
	*into = time.Duration(*ms) * time.Millisecond
	return nil
}

// size is a Terminal that is read without its rule.
type size Terminal

func readTerminal(d *jsontext.Decoder, into *Terminal) error {
	var s *size
	if err := json.UnmarshalDecode(d, &s); err != nil || s == nil {
		return err
	}
	*into = Terminal(*s)
	if bad := into.Check(); bad != nil {
		return bad
	}
	return nil
}

// Check returns why a size is impossible, or nil.
func (t Terminal) Check() *Error {
	if t.Rows < 1 || t.Cols < 1 || t.Rows > math.MaxUint16 || t.Cols > math.MaxUint16 {
		return Invalid("invalid_size", fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
	}
	return nil
}
