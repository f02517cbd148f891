// Package keeper is the engine behind a socket. A keeper is a small process that
// is parent of all jobs, writer of their logs and executor of their ends; its
// Client, the daemon's side, is a backends.Engine whose jobs do not notice when
// the daemon is killed: the next one connects, and adopts them.
//
// Serve is the keeper, Main the role around it; Open finds the keeper of a
// directory or starts one, and connects.
//
//	client --hello--> keeper --hello--> client        versions, and what was heard
//	client --start, adopt, do, stop, …--> keeper      requests, one way
//	client <--facts-- keeper                          of the bound jobs
//	client --log, inventory, close--> keeper          calls,
//	client <--their answers-- keeper                  by number
//
// Both directions are numbered, and both sides keep what the other has not
// acknowledged: a connection that breaks loses nothing, unless so much piles up
// that it is dropped. Then a resync stands in its place, and the client says again
// what it wants.
//
// A job that is detached has a keeper of its own, which ends with it: see Fleet.
//
// What survives the keeper's own death is its journal: the jobs whose exit it
// holds are told by the next keeper with their true status, the others are lost,
// once nothing of them is left alive.
package keeper

import "troupe/messages"

// Names in the directory of a keeper.
const (
	lockName    = "keeper.lock"    // the writer's lease: who holds its lock is the keeper
	journalName = "keeper.journal" // what must survive the keeper
	socketName  = "keeper.sock"
	errorsName  = "keeper.err"  // what the runtime says when the keeper dies of a fault
	givenName   = "keeper.file" // where the log of a detached job is
	markName    = "keeper.gaps" // what is missing of it
	guestName   = "guest.lock"  // who looks after a detached job for a moment holds it
	logsName    = "logs"        // the root of the store
	logsNode    = "keeper"      // and its node: the next keeper has its files
)

func refused(code messages.Code, reason, message, hint string) *messages.Error {
	return &messages.Error{Code: code, Reason: reason, Message: message, Hint: hint}
}
