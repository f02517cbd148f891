// Package jsonrpc serves JSON-RPC 2.0 over lines of JSON. Requests run concurrently, within
// bounds. Both ends send requests. At the end of its input a server answers the requests
// that run; invalid input gets the error of the protocol and ends nothing.
//
//	batch.go         collects the responses to a batch
//	caller.go        requests to the client
//	line_reader.go   lines of bounded length
//	message.go       parses messages and renders responses
//	outbox.go        writes lines, one after another
//	server.go        serves one client
package jsonrpc
