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

// Extension is the name under which clients and servers declare tasks.
const Extension = "io.modelcontextprotocol/tasks"

// firstRevision is the first one in which a call can be answered with a task.
const firstRevision = "2026-07-28"

// Work is what is still to be done for a call. Its context keeps the values of
// the call's, and ends when the client cancels the task, when Store.End or
// Store.Close forgets it, or with the call where there is no task.
//
// What it returns ends the task: a result completes it, with IsError too; an
// error that is a *jsonrpc.Error makes it fail, as a panic does; the error of
// its cancelled context makes it cancelled; any other error is a result with
// IsError, as it is for the SDK's tools.
type Work func(ctx context.Context, t *Task) (*mcp.CallToolResult, error)

// later carries work from a tool's handler to the middleware.
type later struct {
	work Work
	only bool
}

func (*later) Error() string { return "the answer is a task, and no task store serves this server" }

// Later is what the handler of a tool returns in place of a result when there is
// work left. The work begins when the handler has returned.
func Later(w Work) error { return &later{work: w} }

// Only is Later for work that cannot be done within a call: a client that did
// not offer the extension is refused with -32021, and the work does not begin.
func Only(w Work) error { return &later{work: w, only: true} }

// Offered reports whether the client takes a task as the answer to this call.
// A tool need not ask, if its work may be done within a call as well.
func Offered(call *mcp.CallToolRequest) bool {
	version := call.ProtocolVersion()
	if can, ok := call.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok { // which the SDK would decode for each who asks
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

// unpack finds the work in what a handler returned: the SDK passes the error of
// an untyped handler on, and puts that of a typed one into a result.
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

// complete marks a result as the last word. The SDK does it for what handlers
// return, in a field that it lets nobody else write, but reads from JSON.
func complete(result *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	var marked mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"resultType":"complete","content":[]}`), &marked); err != nil {
		return nil, err
	}
	marked.Meta, marked.Content, marked.StructuredContent, marked.IsError = result.Meta, result.Content, result.StructuredContent, result.IsError
	return &marked, nil
}

// do turns a panic into a protocol error.
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
		result.Content = []mcp.Content{} // a list, and never null
	}
	return result
}
