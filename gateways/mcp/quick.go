package mcp

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the SDK does for a tool is dear: it turns parameters and results into maps and
// back, and holds both against a schema, which takes most of the time of a short call.
// A call whose parameters are plainly right goes past that; any other one, and every
// result that is none, goes its way, so that nobody sees which way a call went.

// quickly is a tool that answers a call at once. It reports false, and has done nothing,
// if its parameters are not plainly right.
type quickly func(context.Context, *sdk.CallToolRequest) (outcome, bool)

// outcome is what a tool has for the SDK.
type outcome struct {
	result *sdk.CallToolResult
	shown  any // its structure; nil: it has none
	err    error
}

// outcomeKey is where a tool finds the outcome that it has already.
type outcomeKey struct{}

// quick is the innermost of the middlewares.
func (c *client) quick(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		called, ok := req.(*sdk.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		tool := c.tools[called.Params.Name]
		if tool == nil {
			return next(ctx, method, req)
		}
		o, ok := tool(ctx, called)
		if !ok {
			return next(ctx, method, req)
		}
		if o.err == nil && o.result.InputRequests == nil {
			if sent, err := send(called, o); err == nil {
				return sent, nil
			}
		}
		return next(context.WithValue(ctx, outcomeKey{}, o), method, req)
	}
}

// sent is a result as the SDK would send it.
type sent struct {
	sdk.ResultBase
	Content   []sdk.Content   `json:"content"`
	Structure json.RawMessage `json:"structuredContent,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Type      string          `json:"resultType,omitempty"`
}

func send(req *sdk.CallToolRequest, o outcome) (*sent, error) {
	t := &sent{Content: o.result.Content, IsError: o.result.IsError}
	if by := req.Session.InitializeParams(); by == nil || by.ProtocolVersion >= firstWithRounds {
		t.Type = "complete"
	}
	if o.shown == nil {
		return t, nil
	}
	var err error
	t.Structure, err = structure(o.shown)
	return t, err
}

// reader reads parameters of one type: an object whose fields have the JSON type of
// those of In.
type reader[In any] struct {
	fields   map[string]field
	names    map[string]struct{} // also of those that are never plainly right
	required []string
}

type field struct {
	index []int
	kind  reflect.Type
	plain func(json.RawMessage) bool // whether a value is plainly of its type
}

func newReader[In any]() *reader[In] {
	r := &reader[In]{fields: map[string]field{}, names: map[string]struct{}{}}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		r.names[name] = struct{}{}
		plain := plainly(f.Type)
		if plain == nil {
			continue
		}
		r.fields[name] = field{f.Index, f.Type, plain}
		if !strings.Contains(rest, "omitempty") {
			r.required = append(r.required, name)
		}
	}
	return r
}

// read reports false of what is not plainly right; it may be right all the same.
func (r *reader[In]) read(args json.RawMessage) (in In, ok bool) {
	given := map[string]json.RawMessage{}
	if len(args) > 0 && (!utf8.Valid(args) || json.Unmarshal(args, &given) != nil || given == nil) {
		return in, false
	}
	into := reflect.ValueOf(&in).Elem()
	for name, value := range given {
		f, known := r.fields[name]
		if !known || !f.plain(value) || json.Unmarshal(value, into.FieldByIndex(f.index).Addr().Interface()) != nil {
			return in, false
		}
	}
	for _, name := range r.required {
		if _, there := given[name]; !there {
			return in, false
		}
	}
	return in, true
}

// plainly says how to tell a value of a type; nil: nobody can.
func plainly(t reflect.Type) func(json.RawMessage) bool {
	switch t.Kind() {
	case reflect.String:
		return beginsWith(`"`)
	case reflect.Bool:
		return beginsWith("tf")
	case reflect.Int, reflect.Int64, reflect.Float64:
		return beginsWith("-0123456789")
	case reflect.Pointer:
		return plainly(t.Elem())
	case reflect.Slice:
		if each := plainly(t.Elem()); each != nil {
			return func(value json.RawMessage) bool {
				var all []json.RawMessage
				return json.Unmarshal(value, &all) == nil && all != nil && !slices.ContainsFunc(all, func(v json.RawMessage) bool { return !each(v) })
			}
		}
	case reflect.Map:
		if each := plainly(t.Elem()); each != nil {
			return func(value json.RawMessage) bool {
				var all map[string]json.RawMessage
				if json.Unmarshal(value, &all) != nil || all == nil {
					return false
				}
				for _, v := range all {
					if !each(v) {
						return false
					}
				}
				return true
			}
		}
	}
	return nil
}

func beginsWith(one string) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool { return len(value) > 0 && strings.IndexByte(one, value[0]) >= 0 }
}
