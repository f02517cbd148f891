// Package need skips tests that this machine cannot run, by name and with the reason,
// so that they are counted. No test may skip itself in another way; the house test
// checks that. An installable is a program or a package for Node that "make deps"
// installs: with TROUPE_TEST_STRICT=1 a missing one is a failure. A feature belongs to
// the kernel or to the user's rights; a missing one is only counted.
//
//	cgroup.go    a writable cgroup v2
//	memory.go    a cgroup with a limit of memory
//	node.go      Node and its packages
//	program.go   programs, features, long runs
//	race.go      whether the race detector is on
//	thread.go    a thread of its own
package need
