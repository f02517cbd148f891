// Package dialecttest helps the tests of dialects: it opens real nodes, compares golden
// transcripts, and makes hosts that fail or are late.
//
//	call.go     calls a tool with JSON, as a model does
//	faults.go   makes a host fail or hold calls
//	gate.go     blocks a command until a test opens it
//	golden.go   opens nodes and compares golden transcripts
//	late.go     promotes commands by their output instead of by time
//	shell_results.go  reads the results of commands in a message
package dialecttest
