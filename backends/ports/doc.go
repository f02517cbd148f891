// Package ports finds out when a job listens on a TCP port. The kernel sends no event for it, so
// the package probes: every 10 ms at first, in the end four times a second. On request it lists
// the ports on which a job listens now.
//
// Files:
//
//	listening.go   the listening sockets of processes
//	listens.go     whether a process of a job listens on a port
//	prober.go      Prober, which waits for ports
//	reader.go      Reader, which lists the ports of jobs
package ports
