// Package client is the Go client of the daemon: one method for each route of its HTTP API,
// with the requests and records of package messages. Errors of the daemon are
// *messages.Error with its code. Other errors come from the connection or the context.
//
//	c, err := client.Dial(ctx, socket)
//	result, err := c.Run(ctx, messages.RunCommand{Text: "make test"})
//	events := c.Events(ctx, messages.Subscribe{Now: true})
//
// Files:
//
//	attach.go           attachments to a job's terminal or pipes
//	client.go           Dial, requests, replies and errors
//	events.go           streams of events that resume after a broken connection
//	lease.go            scopes that end with their client
//	output.go           raw output, both streams, text views
//	run.go              runs, finds, lists, stops, removes and controls jobs
//	sessions_scopes.go  sessions, scopes, health and shutdown
//	transport.go        kept connections to the daemon
package client
