// Package tasks implements the extension io.modelcontextprotocol/tasks (SEP-2663) for
// servers of the official SDK, which lacks it. A task may answer tools/call, and the
// client asks for its result later.
//
//	store := tasks.New(tasks.Options{Client: scopeOf})
//	server := mcp.NewServer(...)
//	err := store.Serve(server)
//
// A tool returns its result at once, or work to do as a task:
//
//	return nil, nil, tasks.Later(func(ctx context.Context, t *tasks.Task) (*mcp.CallToolResult, error) {
//		t.Say("compiling")
//		return wait(ctx)
//	})
//
// A client polls its task (tasks/get). Through Handler or Transport it can also subscribe
// to it (subscriptions/listen with taskIds). For a client that did not offer the
// extension with its call, the result of the work answers the call.
//
//	lift.go    lets clients subscribe, over a transport and over HTTP
//	listen.go  subscriptions to tasks
//	serve.go   the methods of the extension
//	store.go   the tasks of all clients, and their limits
//	task.go    one task: state, questions, result
//	wire.go    the JSON of the extension
//	work.go    work that a tool returns
package tasks
