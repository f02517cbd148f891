// Package client is the Go client of the daemon: Host takes the requests of package messages,
// and other methods what lasts: runs, outputs, attachments, events and leases. Errors of the daemon are
// *messages.Error with its code. Other errors come from the connection or the context. Requests
// that read, wait or can be repeated come back to the next daemon.
//
//	c, err := client.Dial(ctx, socket)
//	result, err := c.Run(ctx, messages.RunCommand{Text: "make test"})
//	events := c.Events(ctx, messages.Subscribe{Now: true})
//
// Files:
//
//	absence.go          the time between two daemons, in which requests are repeated
//	attach.go           attachments to a job's terminal or pipes
//	attach_job.go       an attachment as a stream of bytes
//	client.go           Dial, requests, replies and errors
//	event_page.go       pages of recorded events
//	events.go           streams of events that resume after a broken connection
//	hold.go             pauses the output of a job
//	host.go             the daemon as a host.Host: sends a request by its route
//	stats.go            counts, health and version of a daemon
//	lease.go            scopes that end with their client
//	output.go           raw output of one stream
//	output_both.go      raw output of both streams, or with times
//	remove.go           removes several jobs
//	run.go              runs commands
//	transport.go        kept connections to the daemon
//	wait.go             waits for jobs
package client
