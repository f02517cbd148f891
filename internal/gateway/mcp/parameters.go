package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/messages"
)

// parameters are the parameters of one tool.
type parameters struct {
	types    map[string]reflect.Type // by name
	required []string
}

// parametersOf returns the JSON fields of In.
func parametersOf[In any]() *parameters {
	p := &parameters{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p.types[name] = f.Type
		if !strings.Contains(rest, "omitempty") {
			p.required = append(p.required, name)
		}
	}
	return p
}

// explainRefusal removes null parameters and replaces the SDK's text about wrong ones.
// That text names Go types and schema paths, which a model cannot use.
func (c *client) explainRefusal(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || c.parameters[call.Params.Name] == nil {
			return next(ctx, method, req)
		}
		p := c.parameters[call.Params.Name]
		if rest, had := p.withoutNulls(call.Params.Arguments); had {
			call.Params.Arguments = rest
		}
		result, err := next(ctx, method, req)
		if refused, ok := result.(*sdk.CallToolResult); ok && err == nil && refused.GetError() != nil {
			if bad := p.wrong(call.Params.Name, call.Params.Arguments); bad != nil {
				refused.Content = c.refuse(ctx, bad).Content
			}
		}
		return result, err
	}
}

// object decodes the parameters of a call; null is an empty object. It reports false if
// args is another JSON value.
func object(args json.RawMessage) (map[string]json.RawMessage, bool) {
	all := map[string]json.RawMessage{}
	return all, len(args) == 0 || json.Unmarshal(args, &all) == nil
}

// withoutNulls removes null parameters: models write null for a parameter that they
// omit. It reports false if there is none.
func (p *parameters) withoutNulls(args json.RawMessage) (json.RawMessage, bool) {
	all, ok := object(args)
	if !ok {
		return nil, false
	}
	before := len(all)
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool {
		_, known := p.types[name]
		return known && kindOf(value) == "null"
	})
	if len(all) == before {
		return nil, false
	}
	out, err := json.Marshal(all)
	return out, err == nil
}

// wrong names the parameter that is unknown, missing or of a wrong type. It returns nil
// if it finds none.
func (p *parameters) wrong(tool string, args json.RawMessage) *messages.Error {
	all, ok := object(args)
	if !ok {
		return messages.Invalid("arguments", fmt.Sprintf("the arguments of the tool %s are %s; they must be an object", tool, kindOf(args)))
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		if _, known := p.types[name]; !known {
			return messages.Invalid(name, fmt.Sprintf("the tool %s has no parameter %q; it has %s", tool, name, strings.Join(slices.Sorted(maps.Keys(p.types)), ", ")))
		}
	}
	for _, name := range p.required {
		if _, there := all[name]; !there {
			return messages.Invalid(name, fmt.Sprintf("the tool %s needs the parameter %s", tool, name))
		}
	}
	for _, name := range names {
		if said := misfit(name, all[name], p.types[name]); said != "" {
			return messages.Invalid(name, said)
		}
	}
	return nil
}

// misfit says in JSON terms why a value does not fit a type; "": it fits.
func misfit(name string, value json.RawMessage, t reflect.Type) string {
	is, must := kindOf(value), ""
	switch t.Kind() {
	case reflect.Pointer:
		return misfit(name, value, t.Elem())
	case reflect.String:
		must = "a string"
	case reflect.Bool:
		must = "true or false"
	case reflect.Slice:
		must = "a list"
	case reflect.Map:
		must = "an object"
	case reflect.Float64:
		must = "a number"
	default:
		must = "a whole number"
	}
	n, err := strconv.ParseFloat(string(value), 64)
	switch {
	case must == "a whole number" && is == "a number" && (err != nil || n != math.Trunc(n) || math.Abs(n) >= 1<<63):
		is = string(value)
	case is == "a number" && must == "a number" && err != nil:
		return fmt.Sprintf("%s is %s, which is larger than any number can be", name, value)
	case is == must, must == "a whole number" && is == "a number":
		return misfits(name, value, t)
	}
	return fmt.Sprintf("%s is %s; it must be %s", name, is, must)
}

// misfits checks the elements of a list or an object.
func misfits(name string, value json.RawMessage, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		var all []json.RawMessage
		_ = json.Unmarshal(value, &all)
		for _, one := range all {
			if said := misfit("an element of "+name, one, t.Elem()); said != "" {
				return said
			}
		}
	case reflect.Map:
		all, _ := object(value)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if said := misfit(fmt.Sprintf("%.64q of %s", key, name), all[key], t.Elem()); said != "" {
				return said
			}
		}
	}
	return ""
}

// kindOf returns the kind of a JSON value.
func kindOf(value json.RawMessage) string {
	switch value = bytes.TrimSpace(value); value[0] {
	case '"':
		return "a string"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
