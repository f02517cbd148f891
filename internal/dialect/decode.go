package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"troupe/internal/near"
	"troupe/messages"
)

// Decode reads arguments into a struct. null counts as left out, and a value that a client
// has turned into a string is read as what it says. An unknown field, or a field of the
// wrong type, is an error that names it.
func Decode(arguments json.RawMessage, into any) *messages.Error {
	arguments, null := readable(arguments, fieldTypes(reflect.TypeOf(into).Elem()))
	if null != "" {
		return messages.Invalid(null, fmt.Sprintf("an element of %s is null; it must be a string", null))
	}
	return DecodeExact(arguments, into)
}

// DecodeExact decodes arguments of a program as Decode does, without reading a string as
// anything else.
func DecodeExact(arguments json.RawMessage, into any) *messages.Error {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	fields := fieldTypes(reflect.TypeOf(into).Elem())
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return messages.Invalid("arguments", "there is data after the arguments; send one JSON object")
	}
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return messages.Invalid("arguments", "the arguments are "+given(kind.Value)+"; they must be an object")
	case errors.As(err, &kind) && kind.Type.Kind() == reflect.Float64 && strings.HasPrefix(kind.Value, "number "):
		return messages.Invalid(kind.Field, fmt.Sprintf("%s is %s, which is larger than any number can be", kind.Field, kind.Value[len("number "):]))
	case errors.As(err, &kind):
		return messages.Invalid(kind.Field, fmt.Sprintf("%s is %s; it must be %s", misfit(fields, kind), given(kind.Value), wanted(kind.Type.Kind())))
	case unknown:
		return noParameter(name, arguments, fields)
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return messages.Invalid("arguments", "the arguments are not a JSON object: "+err.Error())
	}
	return messages.Invalid("arguments", err.Error()) // from a type with its own UnmarshalJSON
}

// noParameter returns the error of an unknown parameter, whose name is quoted. It names the one
// that may be meant in the sentence: not every dialect shows hints.
func noParameter(quoted string, arguments json.RawMessage, known map[string]reflect.Type) *messages.Error {
	name, text := strings.Trim(quoted, `"`), "there is no parameter "+quoted
	var all map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &all)
	_, own := all[name] // not of an object in a parameter
	if meant := near.Word(name, slices.Sorted(maps.Keys(known))); own && meant != "" {
		text += fmt.Sprintf("; did you mean %q?", meant)
	}
	return messages.Invalid(name, text)
}

// fieldTypes returns the types of a struct's JSON fields by name.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			types[name] = f.Type
		}
	}
	return types
}

// readable returns arguments without nulls, whose values are of the types of the fields
// where they can be read so. Arguments that are no object stay as they are. null names a
// list or an object of strings with a null, which the decoder would take for "".
func readable(arguments json.RawMessage, fields map[string]reflect.Type) (out json.RawMessage, null string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(arguments, &all) != nil || all == nil {
		return arguments, ""
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t, known := fields[name]
		if !known {
			continue
		}
		switch read := reading(all[name], t); {
		case string(all[name]) == "null":
			delete(all, name)
			changed = true
		case read != nil:
			all[name], changed = read, true
		}
		if hasNull(all[name]) {
			return nil, name
		}
	}
	if !changed {
		return arguments, ""
	}
	out, _ = json.Marshal(all) // of valid JSON
	return out, ""
}

func hasNull(value json.RawMessage) bool {
	if value == nil || value[0] != '[' && value[0] != '{' {
		return false
	}
	var list []json.RawMessage
	var object map[string]json.RawMessage
	_, _ = json.Unmarshal(value, &list), json.Unmarshal(value, &object)
	is := func(v json.RawMessage) bool { return string(v) == "null" }
	return slices.ContainsFunc(list, is) || slices.ContainsFunc(slices.Collect(maps.Values(object)), is)
}

// reading returns what a value says in the type of its field, nil if nothing else than it
// is. A field for a string is never read otherwise.
func reading(value json.RawMessage, t reflect.Type) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.String {
		return nil
	}
	said, text := value, ""
	if json.Unmarshal(value, &text) == nil {
		said = json.RawMessage(strings.TrimSpace(text))
	}
	fits := false
	switch t.Kind() {
	case reflect.Bool:
		said = bytes.ToLower(said) // True, as Python writes it
		fits = string(said) == "true" || string(said) == "false"
	case reflect.Slice:
		fits = json.Valid(said) && said[0] == '['
	case reflect.Map:
		fits = json.Valid(said) && said[0] == '{'
	case reflect.Struct:
		if fits = json.Valid(said) && said[0] == '{'; fits {
			said, _ = readable(said, fieldTypes(t)) // a null in it is the decoder's
		}
	case reflect.Float64:
		fits = isNumber(said)
	default:
		n, err := strconv.ParseFloat(string(said), 64)
		if _, exact := strconv.ParseInt(string(said), 10, 64); exact != nil && err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<63 {
			said = strconv.AppendInt(nil, int64(n), 10) // 5.0 and 2e3 are whole
		}
		fits = isNumber(said)
	}
	if !fits || bytes.Equal(said, value) {
		return nil
	}
	return said
}

func isNumber(value json.RawMessage) bool {
	return json.Valid(value) && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}

// misfit names the value of the wrong type: a field, or an element of it.
func misfit(fields map[string]reflect.Type, kind *json.UnmarshalTypeError) string {
	if t := fields[kind.Field]; t != nil && t != kind.Type && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return "an element of " + kind.Field
	}
	return kind.Field
}

// given names the type of a JSON value, as the decoder reports it.
func given(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + value // a string, a number, "number 1.5"
}

// wanted names the JSON type for a Go type.
func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	}
	return "a whole number"
}
