package dialect

import (
	"context"
	"encoding/json"
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
