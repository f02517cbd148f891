// Package host is the one interface to what runs jobs: a node in this process, or a daemon.
// The library is written over it, so that the same program runs against either.
//
// Files:
//
//	final.go  ReadFinal
//	host.go   Host, Doer, Reader, Ask and Attachable
package host
