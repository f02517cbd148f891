package codelia

import (
	"context"
	"encoding/json"
	"strings"

	"troupe/internal/dialect"
)

// tool is a tool of the model. Its call returns a text, or a value that is shown as JSON.
type tool struct {
	dialect.Tool
	call func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// typed adapts a method with typed arguments to tool.call.
func typed[P, R any](method func(context.Context, P) (R, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, arguments json.RawMessage) (any, error) {
		var p P
		if bad := dialect.Decode(arguments, &p); bad != nil {
			return nil, invalid("%s: %s", textInvalid, bad.Message)
		}
		return method(ctx, p)
	}
}

// reading adapts a method of the cache for typed.
func reading[P any](method func(context.Context, P) (string, *Error)) func(context.Context, P) (string, error) {
	return func(ctx context.Context, p P) (string, error) {
		text, bad := method(ctx, p)
		if bad != nil {
			return "", bad
		}
		return text, nil
	}
}

// list returns the tools of the model: the shell family, and those that read cached outputs.
func (s *Session) list() []tool {
	reads := func(name, title, about string, schema json.RawMessage, call func(context.Context, json.RawMessage) (any, error)) tool {
		return tool{dialect.Tool{Name: name, Title: title, Description: about, Schema: schema, ReadOnly: true, Idempotent: true}, call}
	}
	acts := func(name, title, about string, schema json.RawMessage, call func(context.Context, json.RawMessage) (any, error)) tool {
		return tool{dialect.Tool{Name: name, Title: title, Description: about, Schema: schema, Destructive: true, OpenWorld: true}, call}
	}
	return []tool{
		acts("shell", "Shell", descShell, dialect.SchemaOf[shellParams](), typed(s.shell)),
		reads("shell_list", "Shell tasks", descShellList, dialect.SchemaOf[listParams](), typed(s.shellList)),
		reads("shell_status", "State of a shell task", descShellStatus, dialect.SchemaOf[keyParams](), typed(s.shellStatus)),
		reads("shell_logs", "Output of a shell task", descShellLogs, dialect.SchemaOf[logsParams](), typed(s.shellLogs)),
		reads("shell_wait", "Wait for a shell task", descShellWait, dialect.SchemaOf[waitParams](), typed(s.shellWait)),
		reads("shell_result", "Result of a shell task", descShellResult, dialect.SchemaOf[resultParams](), typed(s.shellResult)),
		acts("shell_cancel", "Cancel a shell task", descShellCancel, dialect.SchemaOf[keyParams](), typed(s.shellCancel)),
		acts("shell_stdin_write", "Write to a shell task", descShellWrite, dialect.SchemaOf[stdinParams](), typed(s.shellWrite)),
		reads("tool_output_cache", "Cached output", descCache, cacheSchema(), typed(reading(s.CachePage))),
		reads("tool_output_cache_line", "Line of a cached output", descLine, lineSchema(), typed(reading(s.cutLine))),
		reads("tool_output_cache_grep", "Search a cached output", descGrep, grepSchema(), typed(reading(s.CacheGrep))),
	}
}

// Tools returns the tools of the model.
func (s *Session) Tools() []dialect.Tool {
	var all []dialect.Tool
	for _, t := range s.list() {
		shown := t.Tool
		shown.Call = func(ctx context.Context, c dialect.Call) (dialect.Result, error) {
			result, err := t.call(ctx, c.Arguments)
			switch {
			case ctx.Err() != nil:
				return dialect.Result{}, ctx.Err()
			case err != nil:
				return dialect.Failure(err.Error()), nil
			}
			if text, is := result.(string); is {
				return dialect.Result{Text: text}, nil
			}
			return dialect.Result{Text: rendered(result)}, nil
		}
		all = append(all, shown)
	}
	return all
}

// ToolCallParams holds the parameters of tool.call.
type ToolCallParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ToolCallResult is the result of tool.call: a text or an object.
type ToolCallResult struct {
	OK     bool `json:"ok"`
	Result any  `json:"result"`
}

// CallTool implements tool.call.
func (s *Session) CallTool(ctx context.Context, p ToolCallParams) (ToolCallResult, error) {
	if p.Name == "" {
		return ToolCallResult{}, invalid(textTool)
	}
	for _, t := range s.list() {
		if t.Name == p.Name {
			result, err := t.call(ctx, p.Arguments)
			return ToolCallResult{OK: err == nil, Result: result}, err
		}
	}
	return ToolCallResult{}, invalid(textToolUnknown, cutChars(p.Name, maxLabel, textCutMark))
}

// rendered returns the JSON of a value, without escapes that only HTML needs.
func rendered(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // cannot fail: strings and numbers
	return strings.TrimSuffix(b.String(), "\n")
}
