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

// Tool is one tool of a dialect, as a front end shows it to a model.
type Tool struct {
	Name, Title, Description string
	// Schema is the JSON Schema of the arguments: an object.
	Schema json.RawMessage
	// What it may do, for front ends that tell their users.
	ReadOnly, Idempotent, Destructive, OpenWorld bool
	// Call does one call. A result says what went wrong too, if a model can do something
	// about it; an error is that of a ctx that has ended: nobody reads a result.
	Call func(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	Arguments json.RawMessage
	// Update is called with what is known while the tool works, from one goroutine at a
	// time; each replaces the one before. nil: nobody looks.
	Update func(Result)
}

// Result is what a tool answers.
type Result struct {
	Text    string
	IsError bool
	Details any // becomes a JSON object; nil: none
}

// Failure is a result that only says what is wrong.
func Failure(text string) Result { return Result{Text: text, IsError: true} }

// Called makes a tool's call of a method that takes its arguments as P.
func Called[P any](method func(ctx context.Context, p P, update func(Result)) (Result, error)) func(context.Context, Call) (Result, error) {
	return func(ctx context.Context, c Call) (Result, error) {
		var p P
		if bad := Decode(c.Arguments, &p); bad != nil {
			return Failure(bad.Error()), nil
		}
		return method(ctx, p, c.Update)
	}
}

// Plain is a method for Called that tells nothing while it works.
func Plain[P any](method func(context.Context, P) (Result, error)) func(context.Context, P, func(Result)) (Result, error) {
	return func(ctx context.Context, p P, _ func(Result)) (Result, error) { return method(ctx, p) }
}

// Decode reads arguments into a struct. A field that is not known, or of the wrong type,
// is an error that names it.
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
		return messages.Invalid("arguments", "there is more behind the arguments; send one JSON object")
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
		return messages.Invalid("arguments", "the arguments are no JSON object: "+err.Error())
	}
	return messages.Invalid("arguments", err.Error()) // of a type that reads itself
}

// misfit names what is of another type than it must be: a field, or an element of it.
func misfit(into any, kind *json.UnmarshalTypeError) string {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if of := f.Type.Kind(); name == kind.Field && (of == reflect.Slice || of == reflect.Map) && f.Type != kind.Type {
			return "an element of " + name
		}
	}
	return kind.Field
}

// given names a value of JSON, as its decoder does.
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

// wanted names what a type of Go is in JSON.
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
