// Package http serves the API of the daemon: HTTP and JSON on a unix socket of one
// user. It can also serve loopback TCP with a token. It decodes a request, asks the
// node and encodes the reply. Package api has the table of the API, openapi.yaml
// describes it, package client is its Go client.
//
//	listener, err := http.Listen(socket)           // before the node is opened
//	server := http.New(http.Options{Node: http.AdaptNode(node)})
//	err = server.Serve(listener)                   // until server.Close
//
// A run is answered when it has finished, was promoted, or has started in the
// background. Until then it belongs to its caller: if either half of the connection
// closes, the job is stopped. To keep the jobs, shut down the node before the server.
//
// Every error is {"v":1,"error":{"code","reason","message","hint"}} with the status that
// package api gives its code. Requests are strict: an unknown field or parameter is an
// error that names it.
//
//	admission.go        accepts connections within limits, from our own user
//	attach.go           a WebSocket to a job's terminal or pipes
//	auth.go             checks of Host, Origin and token
//	control.go          stop, resize
//	daemon.go           health, version, stats, shutdown
//	errors.go           errors of the node and the server as coded ones
//	events.go           facts as server-sent events
//	hang_up.go          waits for the end of a connection
//	input_lease.go      which attachment may write to a job
//	job_scope.go        limits the processes of a job to the leased scope that it is in
//	jobs.go             list, show, remove; tasks
//	keep_socket.go      makes a removed socket anew
//	left_scope.go       refuses late requests of a client whose lease has ended
//	listen_socket.go    opens and checks the daemon's socket
//	node_adapter.go     the interface to the node
//	open_count.go       counts the open connections
//	open_session.go     sessions and scopes
//	openapi.go          sends the description of the API
//	output.go           bytes of one stream
//	output_frames.go    one stream or both as frames, in the order of their arrival, with times
//	pass.go             passes a request to the node, within what its client may use
//	pause_output.go     pauses a job's output while a request is open
//	places.go           bounds the connections of a listener
//	read_view.go        bounded views of an output as text
//	request.go          bodies, parameters and replies of requests
//	resize.go           the terminal size of an attachment
//	routes.go           routes requests to their handlers
//	run.go              runs a command
//	scope_lease.go      scopes that end with their client's connection
//	search.go           the lines of an output that match a pattern
//	server.go           options, limits, start and end of the server
//	terminal_view.go    which terminal answers the queries in an output
//	token.go            the token and the listener of TCP
//	token_bucket.go     bounds requests over TCP, and long requests
//	while_connected.go  a context that ends with the client's connection
package http
