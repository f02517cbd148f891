// Package codelia serves the RPC of codelia's runtime: initialize, shell.exec, the shell tasks
// and tool.call, as JSON-RPC over lines. The requests are those of internal/dialect/codelia.
//
//	confirm.go      asks the client about commands
//	connection.go   serves one client
//	initialize.go   greets a client
//	method.go       adapts the requests of a session
package codelia
