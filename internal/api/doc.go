// Package api is what the server and the client of the HTTP API share.
//
//	attach.go   messages of an attachment
//	decode.go   strict decoding of requests, with errors for people
//	event.go    events of GET /v1/events
package api
