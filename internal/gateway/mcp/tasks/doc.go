// Package tasks is the extension io.modelcontextprotocol/tasks (SEP-2663) for
// servers of the official SDK, which lacks it: the answer to tools/call may be
// a task, whose result the client asks for later.
//
//	store := tasks.New(tasks.Options{Client: scopeOf})
//	server := mcp.NewServer(...)
//	err := store.Serve(server)
//
// A tool answers at once, as ever, or hands back what is still to be done:
//
//	return nil, nil, tasks.Later(func(ctx context.Context, t *tasks.Task) (*mcp.CallToolResult, error) {
//		t.Say("compiling")
//		return wait(ctx)
//	})
//
// A client asks how its task is (tasks/get), or listens for it where the server
// is reached through Handler or Transport (subscriptions/listen with taskIds).
// A client that did not offer the extension with its call gets the result of
// the same work, when it is done, as the answer to its call.
package tasks
