// Package mcp serves the Model Context Protocol: the tools of the core dialect, the
// records and outputs of jobs as resources, and notices of their ends.
//
//	server := mcp.New(mcp.Options{Host: host, …})
//	err := server.Serve(ctx, stdin, stdout)        // one client, until it leaves
//	handler := server.Handler(web.Options{…})      // many, over HTTP
//	err = server.Close(ctx)                        // their jobs end
//
// Each client has a scope of its own, below that of the server: it sees and ends its
// own jobs and no others, and they end with it, but for those that were detached or
// that a person has promoted. A client that dies is no different from one that leaves:
// the host ends the scope of whoever does not hold it any more.
package mcp
