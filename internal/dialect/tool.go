package dialect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"troupe/messages"
)

// Tool describes one tool of a dialect, as a front end shows it to a model.
type Tool struct {
	Name, Title, Description string
	// Schema is the JSON Schema of the arguments: an object.
	Schema json.RawMessage
	// What the tool may do: hints that a front end passes to its users.
	ReadOnly, Idempotent, Destructive, OpenWorld bool
	// Call runs one call. Problems that a model can act on are in the result. The error is
	// that of a ctx that has ended; no result is read then.
	Call func(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	Arguments json.RawMessage
	// Update receives interim results, from one goroutine at a time; each replaces the one
	// before. nil: interim results are not wanted.
	Update func(Result)
}

// Result is the answer of a tool.
type Result struct {
	Text    string
	IsError bool
	Details any // marshals to a JSON object; nil: none
}

// Failure returns a result with an error text and no details.
func Failure(text string) Result { return Result{Text: text, IsError: true} }

// Called adapts a method with typed arguments P to Tool.Call.
func Called[P any](method func(ctx context.Context, p P, update func(Result)) (Result, error)) func(context.Context, Call) (Result, error) {
	return func(ctx context.Context, c Call) (Result, error) {
		var p P
		if bad := Decode(c.Arguments, &p); bad != nil {
			return Failure(bad.Error()), nil
		}
		return method(ctx, p, c.Update)
	}
}

// Plain adapts a method without interim results for Called.
func Plain[P any](method func(context.Context, P) (Result, error)) func(context.Context, P, func(Result)) (Result, error) {
	return func(ctx context.Context, p P, _ func(Result)) (Result, error) { return method(ctx, p) }
}

// Decode reads arguments into a struct. An unknown field, or a field of the wrong type, is
// an error that names it.
func Decode(arguments json.RawMessage, into any) *messages.Error {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
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
	case errors.As(err, &kind):
		return messages.Invalid(kind.Field, fmt.Sprintf("%s is %s; it must be %s", misfit(into, kind), given(kind.Value), wanted(kind.Type.Kind())))
	case unknown:
		return messages.Invalid(strings.Trim(name, `"`), "there is no parameter "+name)
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return messages.Invalid("arguments", "the arguments are not a JSON object: "+err.Error())
	}
	return messages.Invalid("arguments", err.Error()) // from a type with its own UnmarshalJSON
}

// misfit names the value of the wrong type: a field, or an element of it.
func misfit(into any, kind *json.UnmarshalTypeError) string {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if of := f.Type.Kind(); name == kind.Field && (of == reflect.Slice || of == reflect.Map) && f.Type != kind.Type {
			return "an element of " + name
		}
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

// Describe returns the schema of a parameter.
func Describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

// ObjectSchema returns the schema of an object with exactly these properties.
func ObjectSchema(properties map[string]any, required ...string) json.RawMessage {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}
