// Package pi speaks the RPC of pi and oh-my-pi with one client: JSON objects, one a line, with
// the requests bash and abort_bash. A Session runs the commands. Requests run side by side; the
// output of each is sent as events while it runs, no faster than the client reads.
//
//	line_reader.go     reads lines of bounded length
//	line_writer.go     writes records, one a line
//	output_events.go   runs the requests bash, and ends them
//	request.go         decodes a line
//	response.go        the responses and events
//	serve.go           serves one client
package pi
