// Package mcp serves the Model Context Protocol: tools that run and control jobs, the
// records and outputs of jobs as resources, and notices of their ends. The tools are
// those of the core dialect or of another one.
//
//	server := mcp.New(mcp.Options{Host: host, …})
//	err := server.Serve(ctx, stdin, stdout)        // one client, until it leaves
//	handler, endpoint := server.Handler(web.Options{…}) // many, over HTTP
//	server.Close()                                 // their jobs end
//
// Each client has a scope of its own below that of the server. It sees and stops only its
// own jobs. They end with it, except detached and promoted ones. A client that dies
// counts as one that leaves: the host ends a scope without a lease.
//
//	artifacts.go           the files of a dialect session as resources
//	byte_order_mark.go     passes over the byte order mark of a message
//	cancelled_requests.go  omits the response to a cancelled request
//	client.go              one client: its SDK server, its scope, its jobs
//	closing_host.go        the host of a dialect session; leaves its jobs to the scope
//	dialect_session.go     calls, notices and progress of a dialect's tools
//	elicit.go              asks the client for the input of a job
//	event_source.go        facts as events of the extension
//	host.go                the interface to the node or daemon
//	job_events.go          receives the facts of the clients' jobs
//	leave.go               opens the scope of a client and ends it
//	notices.go             reports the end of a background job once
//	output.go              parts of outputs as text
//	progress.go            progress of a waiting call
//	resources.go           records and outputs as resources
//	run.go                 the tool run
//	screen_of.go           the screen of a program that takes the whole screen
//	search.go              the lines of an output that match a pattern
//	server.go              options, limits, start and end of the server
//	stateless_client.go    clients of revisions without sessions
//	stdin_feed.go          writes the standard input of a job
//	stdio_transport.go     messages over stdin and stdout
//	subscribe.go           subscriptions to resources
//	stdio_writer.go        writes them, so that no reply waits for a client that does not read
//	task.go                a run as a task
//	tools.go               the other tools, and the result of a call
//	wait.go                the tool wait
//	write.go               the tool write
package mcp
