package engine

import (
	"syscall"

	"troupe/messages"
)

// tree is what holds the processes of one job together: a cgroup, the descent
// from this process, or the process group. Its methods may be called at any
// time and from any goroutine; behind end they do nothing.
type tree interface {
	isolation() messages.Isolation

	// path names the cgroup below the root of the engine's; "": none.
	path() string

	// count tells how many live processes outlived the main one, which was
	// reaped, and whether nothing of the tree is left: at once, or from another
	// goroutine when it has looked.
	count(tell func(left int, empty bool))

	// await calls empty once, from a goroutine of the engine, when nothing of the
	// tree is left.
	await(empty func())

	// pids are the processes that live, seen after the call.
	pids() []int

	// signal sends sigs, in order, to every process it finds.
	signal(sigs ...syscall.Signal)

	// kill ends every process, those too that are born meanwhile. It returns when
	// KILL was sent, or after a bounded number of rounds.
	kill()

	// atOnce says that kill is one call of the kernel's.
	atOnce() bool

	// survivors names who is left.
	survivors() []messages.Survivor

	// oom says whether the kernel killed for want of memory; before is what
	// the counter said at the fork.
	oom(end messages.ExitStatus, before int64) messages.Tristate

	// end gives back what the tree holds. Nothing of it is left, but for
	// survivors that nobody could end.
	end()
}
