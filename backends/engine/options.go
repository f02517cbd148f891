package engine

import (
	"errors"
	"runtime"

	"troupe/messages"
	"troupe/spill"
)

// Options configures an engine. Store is required.
type Options struct {
	Node  string      // ULID of the node; part of the cgroups' names
	Store spill.Store // where the logs are kept

	// Own: this process belongs to the engine alone (a keeper, the CLI). The engine makes it
	// the subreaper of its jobs, reaps every child, closes all other descriptors in jobs and
	// tags them with TROUPE_TREE. Jobs start with the default action of every signal and block
	// none. Such a process must not wait for children, and gets no SIGCHLD until Close.
	// Without Own the engine waits only for its own children, and they inherit the signals that
	// the host ignores or blocks.
	Own bool

	// Beside reports whether a child process of an Own process is its host's: it belongs to no
	// job, and is not stopped. It is called with locks held and must not call the engine. nil: no
	// child is.
	Beside func(pid int) bool

	// Claim is called before the first fork of a process that only its tag identifies.
	// It makes the node's death visible to the process that calls KillLeftovers. nil: none.
	Claim func()

	// ScriptDir returns the directory for scripts, which may hold secrets. Only this user
	// may enter it, and it is emptied after this process was killed. It is called for each
	// script and may make the directory. nil: the temporary directory.
	ScriptDir func() (string, error)

	Sys         Sys            // nil: the kernel
	CgroupRoot  string         // parent of the engine's cgroups; "": the cgroup v2 of this process
	NoCgroup    bool           // use no cgroups
	PoolSize    int            // emptied cgroups to keep; 0: DefaultPool
	OOMScoreAdj *int           // oom_score_adj that jobs have at least, and more if the kernel would end this process before them (Linux). nil: inherited
	SoftLimits  map[int]uint64 // soft limits of jobs, by resource, if lower than those of this process (Linux)
	Spawners    int            // concurrent forks; 0: one per CPU

	// Workers handle the consequences of facts. A goroutine that delivers a start or a
	// result joins them before, and works until Leave returns; it holds no lock. That saves
	// waking another goroutine. nil: none.
	Workers interface {
		Join()
		Leave()
	}

	// Journal gets every record before the engine acts on it: a start before its report, an
	// exit before the reap (if the kernel shows it then), a result before its report. It may
	// wait for a write, not for a disk, and must not call the engine. nil: none.
	Journal func(Record)
	// After is the number after which facts are numbered, for an engine that replaces a dead
	// one.
	After uint64
	// Over is called after the last fact of a job, in a goroutine of the engine. It must not
	// wait. nil: none.
	Over func(job messages.UID)
	// Fault is called for faults of the engine that it survives, and with ReasonEscaped. nil:
	// none.
	Fault func(job messages.UID, fault error)
	// Failpoint is called at named points of the code, in tests. Its error makes that step
	// fail. nil: none.
	Failpoint func(name string) error

	apart int // number of jobs from which forks use a separate descriptor table, in tests; 0: apartFrom; negative: always
}

// ReasonEscaped is the reason of an error (messages.Refused) that is no fault: a process has
// left the tree of its job, and several jobs can be that.
const ReasonEscaped = "escaped"

// DefaultPool is how many emptied cgroups are kept. Making one costs 8 % of a one-shot
// job, keeping one a few KiB of kernel memory.
const DefaultPool = 64

// apartFrom is the number of jobs from which forks use a thread with its own descriptor
// table. Waking the thread takes about 20 µs, copying the engine's table 0.1 µs for
// each descriptor.
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

// at calls Failpoint at a named point of the code.
func (o *Options) at(point string) error {
	if o.Failpoint == nil {
		return nil
	}
	return o.Failpoint(point)
}

// Names of the points where Failpoint is called.
const (
	pointFork   = "fork"   // before the fork
	pointForked = "born"   // the process exists and is not reported
	pointExit   = "exit"   // the exit was seen, the process is a zombie
	pointReaped = "reaped" // the process was reaped
	pointDrain  = "drain"  // before its output is collected
	pointPump   = "pump"   // before output is copied
	pointStop   = "stop"   // before a step of the escalation
)
