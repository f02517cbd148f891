// Package inject lets the faults of a plan happen to a daemon: it stands between the parts of the
// daemon and what they call. A daemon without a plan has nothing of it in between.
//
//	injector.go   asks the plan, counts, reports and records faults
//	run.go        reports faults to their jobs, watches outputs
//	state.go      the counts of a plan, which outlive the daemon, and the list of faults
//	engine.go     starts of jobs
//	process.go    ends of jobs, signals to their processes
//	journal.go    writes to the journal
//	node.go       requests and replies of clients
//	subscription.go notices to subscribers
//	output.go     what a client reads of an output
//	webhooks.go   notices to URLs
package inject
