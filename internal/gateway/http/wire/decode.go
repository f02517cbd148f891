package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"troupe/messages"
)

// MaxDepth bounds the nesting of a request, and so the stack of its decoder.
const MaxDepth = 64

// Decode reads one JSON object into a request. It refuses unknown fields, duplicate
// fields, names in another case, text that is not UTF-8, and anything after the object.
// The error is invalid_params, with the field's name as its reason if there is one.
// into may be partly filled then.
func Decode(body []byte, into any) *messages.Error {
	if w, ok := into.(*Run); ok {
		var quick Run
		if readAll(body, &quick, run) {
			*w = quick
			return nil
		}
	}
	return decode(body, into)
}

// decode implements Decode with encoding/json.
func decode(body []byte, into any) *messages.Error {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return messages.Invalid("body", "the request has no body; send a JSON object, {} if there is nothing to say")
	case !utf8.Valid(body):
		return messages.Invalid("utf8", "the body is not UTF-8 text; send bytes in base64")
	}
	if err := (&scanner{in: body}).scan(); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return decodeError(err)
	}
	if body[0] != '{' {
		return messages.Invalid("body", "the body is not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return messages.Invalid("parse_error", "something follows the JSON object; send one")
	}
	return nil
}

// decodeError returns a readable error for the author of a request.
func decodeError(err error) *messages.Error {
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := typ.Field
		if field == "" {
			field = "body"
		}
		value := "a " + typ.Value
		if typ.Value == "array" || typ.Value == "object" {
			value = "an " + typ.Value
		}
		return messages.Invalid(field, fmt.Sprintf("%s cannot be %s; it must be %s", field, value, kind(typ.Type.String())))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return unknown(strings.Trim(name, `"`))
	}
	return messages.Invalid("parse_error", "the body is not JSON: "+err.Error())
}

// kind returns the JSON name of a Go type.
func kind(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"), goType == "messages.Seq":
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "map"), strings.HasPrefix(goType, "wire."):
		return "an object"
	}
	return "a string"
}

func unknown(field string) *messages.Error {
	return named(field, fmt.Sprintf("%.64q is no field of this request", field))
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
