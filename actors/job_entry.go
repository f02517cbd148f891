package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// jobEntry is what the node knows of one job.
type jobEntry struct {
	// job is the record as it was last told, but for its Seq; it is not changed, but
	// replaced: its session and the facts on their way have it, too.
	job              *messages.Job
	seq              messages.Seq         // of the last fact recorded about it
	run              *messages.RunCommand // not changed; nil: the job has begun, or is not to begin here
	env              []string
	terms            *jobOptions   // nil: the job is settled, and so never placed again
	replyTo          []*actor.PID  // clients of the run that have not had their reply
	asked            *keyedRequest // nil: it has no key
	slotGranted      bool          // it was given its turn: its engine is asked, or was
	slotOffered      bool          // the turn went along with it
	archived         bool          // it has no actor any more: the node itself answers for it
	settled          bool          // and its engine has been told to forget it
	clientWaiting    bool          // a client waited for its end when it was asked for
	awaitingClient   bool          // … and may come back, see clientReturnTime
	inherited        bool          // its engine had it before this tree
	metaSaved        bool          // … and knows where it is
	endPending       bool          // its engine has its end, see waitForEnds
	keepRequested    bool          // somebody has asked for it to stay: its record says so a moment later
	sessionAbandoned bool          // its session was given up: nobody hears what is asked of it
	// queriesAnswered is how far what was asked of its terminal has an answer (lifecycle.Terminal).
	queriesAnswered int64

	retired time.Time     // when its last word was heard
	budget  time.Duration // its foreground budget, where the supervisor sees to it
}

// record is the record of the job as it stands.
func (e *jobEntry) record() messages.Job {
	job := *e.job
	job.Seq = e.seq
	return job
}

// merge takes a record from below, but for what the node knows better: where the job
// is, who is told of its end, and whether it was left behind.
func (e *jobEntry) merge(job *messages.Job) {
	was := e.job
	e.job = job
	if job.Scope != was.Scope || job.Session != was.Session || len(was.OnFinish) > 0 || was.Background && !job.Background {
		e.edit(func(job *messages.Job) {
			job.Scope, job.Session, job.OnFinish = was.Scope, was.Session, was.OnFinish
			job.Background = job.Background || was.Background
		})
	}
}

// edit puts a changed record in the place of that which others have.
func (e *jobEntry) edit(by func(*messages.Job)) {
	job := *e.job
	by(&job)
	e.job = &job
}

// hasStarted reports whether a job in this state has been started: it never is again, and
// of many that run the request and the environment are a good part.
func hasStarted(s messages.State) bool { return s != messages.Queued && s != messages.Starting }
