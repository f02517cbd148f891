// Package omp is the dialect of oh-my-pi: the tools bash and job, with that system's parameters,
// defaults, texts and details (docs/requirements.md, dialect omp). Session implements them on a
// dialect.Host; it keeps the live shells of its calls and writes the artifacts of its results.
// Jobs is the table of background jobs, shared by the sessions of an agent and its sub-agents.
// Calls of bash in one session never overlap.
//
//	active_run.go     launches a command and waits for it
//	background.go     runs a command as a background job
//	call.go           takes a call of bash through its steps
//	capture.go        captures an output, minimizes it and saves artifacts
//	client.go         runs a command in the client's terminal
//	command_line.go   renders a call for display
//	conclude.go       determines how a command ended; runs commands of the user
//	console.go        shows a command's terminal to a person, and types at it
//	deliver.go        delivers the ends of background jobs, with retries
//	details.go        holds the details of a result
//	end_waiter.go     waits for the ends of all background jobs at once
//	frame.go          renders a frame of the console
//	jobs.go           holds the table of background jobs
//	label.go          labels and numbers background jobs
//	live_shell.go     reserves, releases and closes live shells
//	notice.go         renders the line about truncation
//	output_feed.go    passes on the output of a command while it grows
//	params.go         holds the parameters and chooses the path of a call
//	poll.go           implements the tool job
//	ready.go          waits until a service is ready
//	record.go         renders background jobs and their deliveries
//	render.go         draws a result for a screen
//	result.go         renders how a command ended
//	schema.go         makes the JSON Schemas of the tools
//	session.go        opens and closes a session, and lists its tools
//	settings.go       holds the settings and their defaults
//	show.go           draws a result with its whole output
//	texts.go          holds the texts
//	with_env.go       gives a command variables in a shell that stays
package omp
