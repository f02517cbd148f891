// Package http is the API of the daemon: HTTP and JSON on a unix socket that is
// its user's alone, and, if it is asked for, on loopback with a token. It
// decodes, asks the node and encodes; package wire is the JSON, openapi.yaml the
// whole API, package client its Go client.
//
//	listener, err := http.Listen(socket)           // before the node is opened
//	server := http.New(http.Options{Node: http.Over(node)})
//	err = server.Serve(listener)                   // until server.Close
//
// A run is answered when it has finished, was promoted, or has started in the
// background. Until then it is its caller's: if the connection ends (half of it
// is enough), the job is stopped. To leave jobs as they are, shut down the node
// before the server is closed.
//
// Every error is {"v":1,"error":{"code","reason","message","hint"}} with the
// status that errors.go gives its code. Requests are strict: an unknown field or
// parameter is an error that names it.
package http
