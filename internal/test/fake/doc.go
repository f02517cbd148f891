// Package fake provides an engine and a backend whose processes are simulated: by a
// test, in real or virtual time (testing/synctest), or by a script. It keeps every rule
// of package backends and records those that its caller breaks: see Engine.Violations.
// Facts are delivered from goroutines that end when no fact is left, so that none
// outlives a synctest bubble.
//
//	backend.go      the executors of sessions
//	begin_exit.go   start, exit and leftovers of a process
//	binding.go      the owner of a process and the delivery of facts
//	control.go      controls and signals
//	engine.go       the engine and its options
//	escalation.go   stops and deadlines
//	idle.go         the idle timeout
//	output.go       output and its capture
//	process.go      state of a process
//	script.go       automatic behaviour
//	shells.go       live shells
//	store.go        logs in memory
package fake
