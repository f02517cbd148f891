// Package daemon runs the daemon. It locks the state directory and opens the journal, the
// keeper and the node. It serves requests until a client or a signal ends it.
//
//	daemon.go          opens, runs and closes the daemon
//	faults.go         a plan of faults
//	detach.go          starts the daemon again, outside of its client's process tree
//	idle_end.go        ends a daemon that holds nothing
//	limits.go          what limits the daemon and its keeper
//	log.go             the daemon's log, and the faults of a keeper in it
//	metrics.go         metrics for Prometheus
//	metrics_serve.go   serves the metrics
//	node.go            the node, its keeper and its journal
//	serve.go           the flags of serve
//	service.go         the service manager: sockets, readiness, watchdog
package daemon
