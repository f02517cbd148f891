package engine

import (
	"time"

	"troupe/messages"
)

// RecordKind is the event that a Record describes.
type RecordKind string

// The kinds, in a job's order.
const (
	RecordStarting  RecordKind = "starting" // its process is about to be forked
	RecordStarted   RecordKind = "started"
	RecordExited    RecordKind = "exited"
	RecordDrained   RecordKind = "drained"
	RecordForgotten RecordKind = "forgotten" // ended and settled
)

// Record is a fact that outlives the engine, so that a successor can report how a job
// ended.
type Record struct {
	Kind      RecordKind
	Job       messages.UID
	At        time.Time
	PID       int
	StartTime uint64
	Cgroup    string             // path below the root of the engine's cgroups; "": none
	Isolation messages.Isolation // of a RecordStarted
	Status    messages.ExitStatus
	Rusage    messages.Rusage
	Cause     messages.Cause // of a stop
	Sizes     messages.Sizes
	Flags     []messages.Flag
	Dir       string // directory of a live shell or its commands
	Pipe      []int  // statuses of the last pipeline of such a command
	OOM       messages.Tristate
	Seq       uint64 // of the ProcessExited that follows a RecordDrained
}

// recordStarting records that the job is about to start. If the engine dies then, a start of
// it again would run it twice.
func (j *job) recordStarting() {
	if j.engine.opt.Journal != nil {
		j.engine.opt.Journal(Record{Kind: RecordStarting, Job: j.id, At: time.Now()})
	}
}

func (j *job) recordStart(at time.Time, c child) {
	if j.engine.opt.Journal != nil {
		j.engine.opt.Journal(Record{
			Kind: RecordStarted, Job: j.id, At: at, PID: c.pid, StartTime: c.start, Cgroup: c.tree.path(), Isolation: c.tree.isolation(),
		})
	}
}

// recordExit records an exit, in the reaping goroutine.
func (j *job) recordExit(end mainExit) {
	j.mu.Lock()
	j.recorded = true
	cause, t := j.stoppedFor(), j.tree
	j.mu.Unlock()
	j.engine.opt.Journal(Record{
		Kind: RecordExited, Job: j.id, At: end.at, PID: j.proc.pid, StartTime: j.proc.start, Cgroup: t.path(),
		Status: end.status, Rusage: end.rusage, Cause: cause,
	})
}

// recordDrained records a result. The caller holds mu.
func (j *job) recordDrained(sizes messages.Sizes, seq uint64) {
	if j.engine.opt.Journal != nil {
		j.engine.opt.Journal(Record{
			Kind: RecordDrained, Job: j.id, At: time.Now(), PID: j.proc.pid, StartTime: j.proc.start, Sizes: sizes, Seq: seq,
			Status: j.exit.status, Rusage: j.exit.rusage, Cause: j.stoppedFor(), OOM: j.exit.oom, Flags: append([]messages.Flag(nil), j.flags...),
			Dir: j.cwd(), Pipe: j.exit.pipe,
		})
	}
}
