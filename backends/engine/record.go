package engine

import (
	"time"

	"troupe/messages"
)

// RecordKind says what a Record is of.
type RecordKind string

// The kinds, in the order in which a job has them.
const (
	RecordStarted   RecordKind = "started"
	RecordExited    RecordKind = "exited"
	RecordDrained   RecordKind = "drained"
	RecordForgotten RecordKind = "forgotten" // over, and all of it settled
)

// Record is what must survive the engine, so that a successor can report how a job ended.
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
	Cause     messages.Cause // of an end that somebody asked for
	Sizes     messages.Sizes
	Flags     []messages.Flag
	Dir       string // of a live shell and its commands: where the shell is
	OOM       messages.Tristate
	Seq       uint64 // of the ProcessExited that follows a RecordDrained
}

func (j *job) recordStart(at time.Time, c child) {
	if j.engine.opt.Journal != nil {
		j.engine.opt.Journal(Record{
			Kind: RecordStarted, Job: j.id, At: at, PID: c.pid, StartTime: c.start, Cgroup: c.tree.path(), Isolation: c.tree.isolation(),
		})
	}
}

// recordExit is called in the goroutine that reaps.
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

// recordDrained is called with mu.
func (j *job) recordDrained(sizes messages.Sizes, seq uint64) {
	if j.engine.opt.Journal != nil {
		j.engine.opt.Journal(Record{
			Kind: RecordDrained, Job: j.id, At: time.Now(), PID: j.proc.pid, StartTime: j.proc.start, Sizes: sizes, Seq: seq,
			Status: j.exit.status, Rusage: j.exit.rusage, Cause: j.stoppedFor(), OOM: j.exit.oom, Flags: append([]messages.Flag(nil), j.flags...),
			Dir: j.cwd(),
		})
	}
}
