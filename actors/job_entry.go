package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// jobEntry is the supervisor's state of one job.
type jobEntry struct {
	// job is the last reported record, without its Seq. It is replaced, never changed: the
	// session and queued facts share it.
	job              *messages.Record
	seq              messages.Seq         // of the last fact about the job
	startSeq         messages.Seq         // of the fact that it is about to start, see noteStart; 0: none
	run              *messages.RunCommand // read-only; nil: started, or not to be started here
	env              []string
	terms            *jobOptions   // nil: settled, so never placed again
	replyTo          []*actor.PID  // clients of the run that wait for their reply
	asked            *keyedRequest // nil: no idempotency key
	inQueue          bool          // its session has queued it
	slotGranted      bool          // it has or had a start slot
	slotOffered      bool          // the placement carried a start slot
	archived         bool          // it has no actor: the supervisor answers for it
	settled          bool          // the engine may forget it
	clientWaiting    bool          // a client waited for its end at the request
	awaitingClient   bool          // that client may return, see clientReturnTime
	leftRunning      bool          // the former node put it into the background when it ended: its client may return
	inherited        bool          // the engine had it before this tree
	metaSaved        bool          // the engine has its metadata
	endPending       bool          // the engine has its end, see waitForEnds
	keepRequested    bool          // a client asked to keep it; the record follows
	sessionAbandoned bool          // its session crashed too often: requests are refused
	// queriesAnswered is lifecycle.Terminal.Answered, or unknownAnswers.
	queriesAnswered int64

	retired int64         // when its last fact came, Unix time in ns
	budget  time.Duration // its foreground budget, if the supervisor keeps it
}

// record returns the current record with its Seq.
func (e *jobEntry) record() messages.Record {
	job := *e.job
	job.Seq = e.seq
	return job
}

// endUntold reports whether the clients have to wait for the end of the job until the journal
// has it: it was never started, and the next node would start it.
func (e *jobEntry) endUntold() bool {
	return e.job.State.Ended() && e.job.Started.IsZero() && !e.archived
}

// journaled returns the record for the journal: a job that is about to start is not queued there.
func (e *jobEntry) journaled() messages.Record {
	job := e.record()
	if e.startSeq > 0 && job.State == messages.Queued {
		job.State = messages.Starting
	}
	return job
}

// merge takes a record from below. It keeps the scope, the notices, the faults and the
// background flag, which the supervisor sets.
func (e *jobEntry) merge(job *messages.Record) {
	was := e.job
	e.job = job
	if job.Scope != was.Scope || job.Session != was.Session || len(was.OnFinish) > 0 || len(was.Faults) > 0 || was.Background && !job.Background {
		e.edit(func(job *messages.Record) {
			job.Scope, job.Session, job.OnFinish, job.Faults = was.Scope, was.Session, was.OnFinish, was.Faults
			job.Background = job.Background || was.Background
		})
	}
}

// edit replaces the record by a changed copy.
func (e *jobEntry) edit(by func(*messages.Record)) {
	job := *e.job
	by(&job)
	e.job = &job
}

// hasStarted reports whether a job in this state has been started. Its request and environment
// are not needed any more.
func hasStarted(s messages.State) bool { return s != messages.Queued && s != messages.Starting }
