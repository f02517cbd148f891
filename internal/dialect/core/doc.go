// Package core is troupe's own dialect: the full model as tools for an agent. It turns the
// parameters of a tool into a request, and the record of a job with its output into a result.
// Some front ends show their model only the structure of a result, others only its text.
// Therefore each of the two is complete. The package is pure: it receives what it must know of
// the machine.
//
//	flags.go    renders the flags of a record
//	params.go   holds the parameters of all tools but run
//	result.go   holds the results of the tools, and fills in records
//	run.go      turns the parameters of run into a request
//	text.go     renders the results as text
//	tools.go    describes the tools to a model
package core
