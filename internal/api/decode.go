package api

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"troupe/internal/near"
	"troupe/messages"
)

// Decode reads one JSON object into a request. It refuses unknown fields, duplicate
// fields, names in another case, text that is not UTF-8, and anything after the object.
// The error is invalid_params, with the field's name as its reason if there is one.
// into may be partly filled then.
func Decode(body []byte, into any) *messages.Error {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return messages.Invalid("body", "the request has no body; send a JSON object, {} if there is nothing to say")
	case !utf8.Valid(body):
		return messages.Invalid("utf8", "the body is not UTF-8 text; send bytes in base64")
	}
	if err := messages.UnmarshalRequest(body, into); err != nil {
		return decodeError(err)
	}
	if body[0] != '{' { // null
		return messages.Invalid("body", "the body is not a JSON object")
	}
	return nil
}

// decodeError returns a readable error for the author of a request.
func decodeError(err error) *messages.Error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return syntaxError(syntax)
	}
	if bad, ok := errors.AsType[*messages.Error](err); ok {
		return bad
	}
	fault, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return messages.Invalid("parse_error", "the body is not JSON: "+err.Error())
	}
	path := strings.Split(strings.TrimPrefix(string(fault.JSONPointer), "/"), "/")
	last := fault.JSONPointer.LastToken()
	switch {
	case errors.Is(fault.Err, json.ErrUnknownName):
		return unknown(last, "field", fieldNames(fault.GoType))
	case errors.Is(fault.Err, messages.ErrNullElement):
		list := fault.JSONPointer.Parent().LastToken()
		return named(list, fmt.Sprintf("an element of %.64s is null; give a value, or leave it out", list))
	}
	field := strings.Join(withoutIndexes(path), ".")
	if field == "" {
		field = "body"
	}
	return messages.Invalid(field, fmt.Sprintf("%s cannot be %s; it must be %s", field, value(fault), kind(fault.GoType)))
}

func syntaxError(fault *jsontext.SyntacticError) *messages.Error {
	switch text := fault.Err.Error(); {
	case errors.Is(fault.Err, jsontext.ErrDuplicateName):
		name := fault.JSONPointer.LastToken()
		return named(name, fmt.Sprintf("%.64q is given twice", name))
	case strings.Contains(text, "surrogate"):
		return messages.Invalid("utf8", "the body has half a character: "+text+"; send bytes in base64")
	case strings.Contains(text, "after top-level value"):
		return messages.Invalid("parse_error", "something follows the JSON object; send one")
	}
	return messages.Invalid("parse_error", "the body is not JSON: "+fault.Error())
}

// withoutIndexes leaves out the places in lists.
func withoutIndexes(path []string) (names []string) {
	for _, name := range path {
		if _, err := strconv.Atoi(name); err != nil {
			names = append(names, name)
		}
	}
	return names
}

// value describes what was given in place of a value.
func value(fault *json.SemanticError) string {
	switch fault.JSONKind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a bool"
	case '0':
		if n := string(fault.JSONValue); n != "" {
			return fmt.Sprintf("a number %.64s", n)
		}
		return "a number"
	}
	return "that"
}

// kind returns the JSON name of a Go type.
func kind(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.String:
		return "a string"
	}
	return "a whole number"
}

// unknown returns the error of a field or parameter that a request does not have. Its hint is the
// known one that may be meant: the Go client knows the message.
func unknown(name, what string, known []string) *messages.Error {
	err := named(name, fmt.Sprintf("%.64q is no %s of this request", name, what))
	if meant := near.Word(name, known); meant != "" {
		err.Hint = "did you mean " + meant + "?"
	}
	return err
}

// fieldNames returns the JSON names of the fields of a struct.
func fieldNames(t reflect.Type) (names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// named returns an error about a field, whose name comes from the caller and may be
// anything.
func named(field, message string) *messages.Error {
	const most = 64
	switch {
	case field == "":
		field = "field"
	case len(field) > most:
		field = strings.ToValidUTF8(field[:most], "") + "…"
	}
	return messages.Invalid(field, message)
}
