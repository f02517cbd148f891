package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extension is the name of the extension in capabilities.
const Extension = "io.modelcontextprotocol/tasks"

// firstRevision is the first revision in which a task can answer a call.
const firstRevision = "2026-07-28"

// Work is the work left for a call. Its context keeps the values of the call's. It ends
// when the client cancels the task, when the store forgets it, or with a call without a
// task.
//
// The return of Work ends the task. A result completes it, also with IsError. A
// *jsonrpc.Error or a panic makes it fail, the error of its cancelled context makes it
// cancelled. Any other error is a result with IsError, as for the SDK's tools.
type Work func(ctx context.Context, t *Task) (*mcp.CallToolResult, error)

// later carries work from a tool's handler to the middleware.
type later struct{ work Work }

func (*later) Error() string { return "a tool returned a task to a server without a task store" }

// Later returns an error that stands for work left, in place of a result. The work
// starts when the handler has returned.
func Later(w Work) error { return &later{work: w} }

// Offered reports whether the client accepts a task for this call. A tool need not
// check if its work can also be done within the call.
func Offered(call *mcp.CallToolRequest) bool {
	version := call.ProtocolVersion()
	if can, ok := call.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok { // cheaper than the SDK, which decodes it for each caller
		extensions, _ := can["extensions"].(map[string]any)
		_, ok = extensions[Extension]
		return ok && version >= firstRevision
	}
	return offered(version, call.ClientCapabilities())
}

func offered(version string, can *mcp.ClientCapabilities) bool {
	if version < firstRevision || can == nil {
		return false
	}
	_, ok := can.Extensions[Extension]
	return ok
}

// unpack returns the work in what a handler returned. The SDK passes on the error of an
// untyped handler and puts that of a typed one into a result.
func unpack(result mcp.Result, err error) *later {
	var l *later
	if called, ok := result.(*mcp.CallToolResult); ok && called != nil && err == nil {
		err = called.GetError()
	}
	if !errors.As(err, &l) {
		return nil
	}
	return l
}

// within does the work of a call that becomes no task.
func (l *later) within(ctx context.Context, r *mcp.CallToolRequest, log *slog.Logger) (mcp.Result, error) {
	result, err := l.do(ctx, &Task{}, log)
	if fault := protocolError(err); fault != nil {
		return nil, fault
	}
	result = resultOf(result, err)
	if r.ProtocolVersion() < firstRevision {
		return result, nil
	}
	return complete(result)
}

// complete marks a result as final. The SDK does so for results of handlers, in a field
// that only it and JSON can set.
func complete(result *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	var marked mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"resultType":"complete","content":[]}`), &marked); err != nil {
		return nil, err
	}
	marked.Meta, marked.Content, marked.StructuredContent, marked.IsError = result.Meta, result.Content, result.StructuredContent, result.IsError
	return &marked, nil
}

// do calls the work and turns a panic into a protocol error.
func (l *later) do(ctx context.Context, t *Task, log *slog.Logger) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			if log != nil {
				log.Error("the work of a tool panicked", "task", t.id, "panic", p, "stack", string(debug.Stack()))
			}
			result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprint("the tool failed: ", p)}
		}
	}()
	return l.work(ctx, t)
}

func protocolError(err error) *jsonrpc.Error {
	var fault *jsonrpc.Error
	errors.As(err, &fault)
	return fault
}

func resultOf(result *mcp.CallToolResult, err error) *mcp.CallToolResult {
	if err != nil {
		result = new(mcp.CallToolResult)
		result.SetError(err)
	}
	if result == nil {
		result = new(mcp.CallToolResult)
	}
	if result.Content == nil {
		result.Content = []mcp.Content{} // an empty list instead of null
	}
	return result
}
