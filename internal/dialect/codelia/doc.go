// Package codelia is the dialect of codelia (docs/requirements.md, dialect codelia): the shell
// requests of its runtime, shell.exec and shell tasks; the tools of its model; and the ! commands
// of its console. Session implements the requests and tools on a dialect.Host. The functions
// without a context are pure. A gateway frames the JSON-RPC; Error has the codes.
//
//	bang.go          parses ! commands and renders the statuses of the console
//	cache.go         reads, searches and pages cached outputs
//	capture.go       captures the streams of a task and caches long ones
//	control.go       lists, waits for, detaches, cancels and feeds tasks
//	cut_message.go   cuts long tool messages
//	excerpt.go       cuts a long stream to its ends
//	exec.go          runs shell.exec and starts tasks
//	follow.go        follows the facts about tasks, also after a break
//	key.go           names tasks to the model
//	logs.go          implements the tool shell_logs
//	params.go        holds the parameters, results and errors of the protocol
//	payload.go       makes the results of the shell tools
//	queue.go         holds the results for the next message
//	rules.go         decides by directory and words which commands may run
//	schema.go        makes the JSON Schemas of the cache tools
//	session.go       opens and closes a session
//	shell.go         implements the shell tools
//	shell_params.go  holds the parameters of the shell tools
//	task.go          holds a task and its state until it has a result
//	texts.go         holds the texts
//	tools.go         lists the tools and calls them
//	watch_size.go    stops a job that exceeds the capture limit
package codelia
