// Package out prints what verbs print: tables, JSON, and errors with their exit statuses.
// Text from jobs and clients is escaped before it reaches a terminal. A verb whose
// reader closes stdout ends with the status of SIGPIPE.
//
//	async_writer.go   a writer that does not block its caller
//	cells.go          the width of text in cells
//	errors.go         errors, their codes and exit statuses
//	escape.go         escapes for text that a terminal may act on
//	job_table.go      the table of jobs
//	json.go           JSON objects on stdout
//	live_text.go      what the processes of jobs do and use, in words and cells
//	lost.go           why a part of an output is missing
//	record.go         the record of a job
//	sigpipe.go        the loss of the reader of stdout
//	status_text.go    the state and the end of a job, in words
//	table.go          tables, ages and plurals
package out
