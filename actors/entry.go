package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// entry is what the node knows of one job.
type entry struct {
	// job is the record as it was last told, but for its Seq; it is not changed, but
	// replaced: its session and the facts on their way have it, too.
	job     *messages.Job
	seq     messages.Seq         // of the last fact recorded about it
	run     *messages.RunCommand // not changed; nil: the job has begun, or is not to begin here
	env     []string
	terms   *terms       // nil: the job is settled, and so never placed again
	debts   []*actor.PID // clients of the run that have not had their reply
	asked   *asked       // nil: it has no key
	turn    bool         // it was given its turn: its engine is asked, or was
	offered bool         // the turn went along with it
	over    bool         // it has no actor any more: the node itself answers for it
	settled bool         // and its engine has been told to forget it
	owed    bool         // a client waited for its end when it was asked for
	awaited bool         // … and may come back, see comeBack
	held    bool         // its engine had it before this tree
	noted   bool         // … and knows where it is
	due     bool         // its engine has its end, see awaitEnds
	keep    bool         // somebody has asked for it to stay: its record says so a moment later
	given   bool         // its session was given up: nobody hears what is asked of it
	// answered is how far what was asked of its terminal has an answer (lifecycle.Terminal).
	answered int64

	retired time.Time     // when its last word was heard
	budget  time.Duration // its foreground budget, where the supervisor sees to it
}

// record is the record of the job as it stands.
func (e *entry) record() messages.Job {
	job := *e.job
	job.Seq = e.seq
	return job
}

// take takes a record from below, but for what the node knows better: where the job
// is, who is told of its end, and whether it was left behind.
func (e *entry) take(job *messages.Job) {
	was := e.job
	e.job = job
	if job.Scope != was.Scope || job.Session != was.Session || len(was.OnFinish) > 0 || was.Background && !job.Background {
		e.change(func(job *messages.Job) {
			job.Scope, job.Session, job.OnFinish = was.Scope, was.Session, was.OnFinish
			job.Background = job.Background || was.Background
		})
	}
}

// change puts a changed record in the place of that which others have.
func (e *entry) change(by func(*messages.Job)) {
	job := *e.job
	by(&job)
	e.job = &job
}

// begun reports whether a job in this state has been started: it never is again, and
// of many that run the request and the environment are a good part.
func begun(s messages.State) bool { return s != messages.Queued && s != messages.Starting }
