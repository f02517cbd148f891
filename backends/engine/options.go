// Package engine runs jobs on the operating system: it forks them, moves their
// output into logs, waits for them, stops them, and reports facts. Local is
// the one engine; it serves an embedding program, the CLI and a keeper alike,
// and knows nothing of actors.
//
// docs/design/engine.md says what it promises and why. It runs no thread for a job, and on
// Linux no goroutine while the job is quiet. A job that writes much has one goroutine for
// each of its streams, parked in the netpoller. No byte of output passes through its memory.
//
// How much of a tree it can hold together depends on what it may use, strongest
// first: a cgroup v2 of its own for each job; where the process is the engine's
// own, everything that descends from it; else the job's process groups.
package engine

import (
	"errors"
	"runtime"

	"troupe/messages"
	"troupe/spill"
)

// Options are what an engine stands on. Store is required.
type Options struct {
	Node  string      // the ULID of the node: it names the cgroups
	Store spill.Store // where output goes

	// Own says that this process is the engine's alone (a keeper, the CLI): it
	// becomes the subreaper of all that descends from its jobs, reaps every child
	// it has, closes every other descriptor in its jobs and tags them with
	// TROUPE_TREE. Such a process must not use os/exec or wait for children, and gets
	// no SIGCHLD until Close.
	// Without it the engine waits for what it started and for nothing else.
	Own bool

	// Claim is called before the first fork of a process that only its tag will
	// tell from others, so that the node's death can be seen: whoever sees it calls
	// KillLeftovers. nil: nothing.
	Claim func()

	// ScriptDir says where scripts are written, which may hold secrets: a directory
	// that only this user can enter, and that is cleared up when this process is
	// killed. It is asked for each, and may make it. nil: the temporary directory.
	ScriptDir func() (string, error)

	Sys        Sys    // nil: the kernel
	CgroupRoot string // where to make cgroups; "": the cgroup v2 of this process
	NoCgroup   bool   // do without
	PoolSize   int    // emptied cgroups that are kept; 0: DefaultPool
	Spawners   int    // forks at a time; 0: as many as there are CPUs

	// Workers do what follows from facts. A goroutine of the engine that tells the
	// start or the result of a job joins them before, and helps with it when it
	// leaves, where no lock is held: another would have to be woken. nil: nobody.
	Workers interface {
		Join()
		Leave()
	}

	// Journal is given every record before what it says is acted on: a start
	// before it is reported, an exit before it is reaped (where the kernel tells
	// it before), a result before it is told. It may wait for a write, not for a
	// disk, and must not call the engine. nil: none.
	Journal func(Record)
	// After is the number behind which those of facts begin, for an engine that
	// goes on where a dead one ended.
	After uint64
	// Over is told of a job about which nothing more will be said, from a goroutine of
	// the engine; it must not wait. nil: nobody.
	Over func(job messages.UID)
	// Fault hears of faults of the engine itself, which it survives. nil: nobody.
	Fault func(job messages.UID, fault error)
	// Failpoint is called at named points of the code, in tests; an error of its
	// own makes that step fail. nil: nothing.
	Failpoint func(name string) error

	apart int // jobs from which on forks have a table of their own, in tests; 0: apartFrom, negative: all forks
}

// DefaultPool is how many emptied cgroups wait for the next jobs: making one
// costs 8 % of a one-shot, keeping one a few KiB of the
// kernel's memory.
const DefaultPool = 64

// apartFrom is the number of jobs from which on it takes less time to fork from a thread
// with a table of descriptors of its own than to copy the large one: waking the thread
// takes some 20 µs, a descriptor 0.1.
const apartFrom = 256

func (o Options) complete() (Options, error) {
	if o.Store == nil {
		return o, errors.New("the engine needs a store for the output of its jobs: set Options.Store")
	}
	if o.Node == "" {
		o.Node = "engine"
	}
	if o.Sys == nil {
		o.Sys = kernel{}
	}
	if store, ok := o.Store.(fdReleaser); ok {
		o.Sys = fdRetrySys{o.Sys, store}
	}
	if o.PoolSize <= 0 {
		o.PoolSize = DefaultPool
	}
	if o.Spawners <= 0 {
		o.Spawners = runtime.NumCPU()
	}
	if o.apart == 0 {
		o.apart = apartFrom
	}
	return o, nil
}

// at passes a named point of the code.
func (o *Options) at(point string) error {
	if o.Failpoint == nil {
		return nil
	}
	return o.Failpoint(point)
}

// The named points.
const (
	pointFork   = "fork"   // before the fork
	pointBorn   = "born"   // the process exists, nobody was told
	pointExit   = "exit"   // the exit was seen, the process is a zombie
	pointReaped = "reaped" // and is no more
	pointDrain  = "drain"  // before its output is collected
	pointPump   = "pump"   // before output is moved
	pointStop   = "stop"   // before a rung of the ladder
)
