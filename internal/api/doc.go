// Package api is what the server and the client of the HTTP API share: one table of its requests,
// how a request of package messages becomes a path, a query and a body and is read from them, and
// openapi.yaml, which follows from both. Requests are read strictly; replies carry "v":1 and may
// gain fields. The job object is that of package messages.
//
// Durations are whole milliseconds in fields that end in _ms, as in the job object. A null
// or absent field means none or the default. Bytes that are not UTF-8 travel in fields that
// end in _base64, or as a raw body.
//
//	attach.go         messages of an attachment
//	decode.go         strict decoding of bodies, with errors for people
//	descriptions.go   what openapi.yaml says of fields and parameters
//	document.go       openapi.yaml, from the table and the structs
//	encode.go         a request as path, query and body
//	enums.go          closed sets of values
//	errors.go         HTTP statuses of the error codes
//	event.go          events of GET /v1/events
//	params.go         parameters of the requests that stay open, and of views
//	query.go          a request from path, query and body
//	result.go         replies and requests that are the gateway's own
//	routes.go         the table
//	schema.go         JSON schemas of structs
//	stream.go         headers, trailers and frames of raw output
//	view.go           the parameters of a view of an output
package api
