package engine

import (
	"syscall"

	"troupe/messages"
)

// tree tracks the processes of one job: by cgroup, by descent from this process, or by
// process group. All methods can be called at any time from any goroutine; after end
// they do nothing.
type tree interface {
	isolation() messages.Isolation

	// path returns the cgroup's path below the engine's root; "": none.
	path() string

	// count calls tell with the number of live processes that outlived the reaped main
	// process, and whether the tree is empty: at once, or later from another goroutine.
	count(tell func(left int, empty bool))

	// await calls empty once, in a goroutine of the engine, when the tree is empty.
	await(empty func())

	// pids returns the live processes, seen after the call.
	pids() []int

	// signal sends sigs, in order, to every process it finds.
	signal(sigs ...syscall.Signal)

	// kill kills every process, also those forked meanwhile. It returns when KILL was
	// sent, or after a bounded number of rounds.
	kill()

	// atOnce reports whether kill is one system call.
	atOnce() bool

	// survivors returns the processes that are left.
	survivors() []messages.Survivor

	// oom reports whether the kernel killed for lack of memory; before is the counter
	// at the fork. stopped: the engine may have sent KILL.
	oom(end messages.ExitStatus, stopped bool, before int64) messages.Tristate

	// end releases the tree's resources. Only unkillable processes may be left.
	end()
}

// follow records, before a stop, the processes of a tree that will be hard to find after it.
func follow(t tree) {
	if f, is := t.(interface{ follow() }); is {
		f.follow()
	}
}
