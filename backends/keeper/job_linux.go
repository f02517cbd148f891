package keeper

import (
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// job is the daemon's copy of a keeper job: facts received and requests to repeat to a new
// keeper.
type job struct {
	c        *Client
	id       messages.UID
	separate bool

	mu      sync.Mutex
	gen     uint64 // of the newest binding; facts of older ones are dropped
	bound   *backends.Binding
	queue   []messages.ProcessFact // facts to deliver
	telling bool

	spec        *backends.Spec // until the start is answered
	startExpiry time.Time      // the keeper refuses the start later
	number      uint64         // of the start's message
	link        *link          // that carried it
	suspended   bool           // nothing is sent until a new keeper has listed its jobs

	hasLogs         bool
	ended           bool     // no more facts follow
	settledAll      bool     // ended, and all facts are settled: the keeper forgets the job
	reported        reported // to the owner
	exit            messages.Sizes
	lastHeard       uint64            // highest number of a received fact
	lastDelivered   uint64            // highest number of a delivered fact
	pendingControls []*pendingControl // controls without an answer
	staleAnswers    []uint64          // numbers of controls refused here, with answers still to come
	logs            [3]*remoteLog
	order           []byte // of two small logs

	recorded bool // the owner has stored the small logs; guarded by Client.mu

	meta     []byte
	metaSent bool
	stopped  *stop
	graceEnd time.Time // end of its grace
	settled  uint64
	credit   [3]*growthRequest

	startTimedOut *messages.ProcessFailed // fact delivered for a start that an unresponsive keeper did not answer
}

// reported records which facts an owner has received: a new keeper, or one after an
// outage, sends them again.
type reported struct{ started, main, result, closed, ended bool }

// pendingControl is a control whose answer the owner waits for.
type pendingControl struct {
	nth  uint64 // of the control; 0: answered in order
	fact messages.ProcessFact
}

func (d *pendingControl) known() (nth uint64, known bool) { return d.nth, d.fact != nil }

func newJob(c *Client, id messages.UID, separate bool) *job {
	return &job{c: c, id: id, separate: separate}
}

// deliver delivers the queued facts, unless another goroutine does. The caller holds
// mu, which deliver releases.
func (j *job) deliver() {
	if j.telling {
		j.mu.Unlock()
		return
	}
	j.telling = true
	for len(j.queue) > 0 {
		f, b := j.queue[0], j.bound
		j.queue = j.queue[1:]
		j.mu.Unlock()
		if b != nil {
			b.Deliver(f)
		}
		j.mu.Lock()
	}
	j.queue, j.telling = nil, false
	j.mu.Unlock()
}

// enqueue queues a fact. The caller holds mu.
func (j *job) enqueue(f messages.ProcessFact) {
	if j.bound != nil {
		j.queue = append(j.queue, f)
	}
}

// onFact handles a fact from the keeper.
func (j *job) onFact(gen uint64, f messages.ProcessFact) {
	j.mu.Lock()
	if gen != j.gen || j.suspended {
		j.mu.Unlock()
		return
	}
	if j.startTimedOut != nil {
		j.settleTimedOut(f)
	} else {
		j.applyFact(f)
	}
	j.settleRest()
	j.deliver()
}

// applyFact queues what is new in a fact. The caller holds mu.
func (j *job) applyFact(f messages.ProcessFact) {
	switch f := f.(type) {
	case messages.ProcessStarted:
		j.spec, j.hasLogs = nil, true
		once(j, &j.reported.started, f)
	case messages.ProcessFailed:
		j.spec, j.hasLogs, j.ended = nil, true, true
		j.count(f.Seq)
		j.refuseDue(refusal(messages.JobFinished, "the process was not started"))
		once(j, &j.reported.result, f)
	case messages.MainExited:
		if !j.reported.result {
			once(j, &j.reported.main, f)
		}
	case messages.ProcessExited:
		j.applyExit(f)
	case messages.ProcessLost:
		j.applyLost(f)
	case messages.OutputClosed:
		j.takeClosed(f)
	case messages.TreeEnded:
		j.takeEnded(f)
	case messages.ControlAnswer:
		j.answer(f)
	case messages.OutputGrew:
		j.credit[f.Stream%3] = nil
		j.enqueue(f)
	default:
		if !j.ended {
			j.enqueue(f)
		}
	}
}

// once queues a fact that an owner gets once. The caller holds mu.
func once(j *job, said *bool, f messages.ProcessFact) {
	if !*said {
		*said = true
		j.enqueue(f)
	}
}

// count records the number of a received fact. The caller holds mu.
func (j *job) count(seq uint64) { j.lastHeard = max(j.lastHeard, seq) }

// applyExit handles the result, and the end of output and tree if it includes them. The
// caller holds mu.
func (j *job) applyExit(f messages.ProcessExited) {
	j.count(max(f.Seq, f.Last))
	j.exit = f.Sizes
	if f.Last > 0 { // the engine answers nothing after the last fact
		j.refuseDue(refusal(messages.JobFinished, "the process has exited"))
	}
	if !j.reported.result {
		j.lastDelivered = max(j.lastDelivered, f.Seq)
	}
	once(j, &j.reported.result, f)
	if f.Last > 0 {
		j.takeClosed(messages.OutputClosed{Seq: f.Last - 1, Sizes: f.Sizes, Outputs: f.Outputs})
		j.takeEnded(messages.TreeEnded{Seq: f.Last, Survivors: f.Survivors})
	}
}

func (j *job) takeClosed(f messages.OutputClosed) {
	j.count(f.Seq)
	if !j.reported.closed {
		j.lastDelivered = max(j.lastDelivered, f.Seq)
	}
	once(j, &j.reported.closed, f)
	j.ended = j.reported.closed && j.reported.ended
}

func (j *job) takeEnded(f messages.TreeEnded) {
	j.count(f.Seq)
	if !j.reported.ended {
		j.lastDelivered = max(j.lastDelivered, f.Seq)
	}
	once(j, &j.reported.ended, f)
	j.ended = j.reported.closed && j.reported.ended
}

// applyLost ends a job that is lost. If its result was delivered, only the end of
// output and tree follow. The caller holds mu.
func (j *job) applyLost(f messages.ProcessLost) {
	j.spec = nil
	j.forgetLost(f.Sizes)
	if j.reported.result {
		j.takeClosed(messages.OutputClosed{Seq: f.Seq, Sizes: j.exit, Outputs: f.Outputs})
		j.takeEnded(messages.TreeEnded{Seq: f.Seq, Survivors: f.Survivors})
		return
	}
	j.count(f.Seq)
	j.lastDelivered, j.ended = max(j.lastDelivered, f.Seq), true
	j.refuseDue(refusal(messages.JobFinished, "the process is lost"))
	once(j, &j.reported.result, f)
}

// markLost ends a job as lost without a fact of a keeper. sizes are those of saved logs;
// missing says that there are others. The caller holds mu.
func (j *job) markLost(why string, sizes messages.Sizes, missing bool) {
	lost := messages.ProcessLost{
		Seq: max(j.lastHeard, j.lastDelivered) + 1, At: time.Now(), Sizes: sizes, Err: *refused(messages.Internal, "keeper", why, lostHint),
	}
	if missing {
		lost.Flags = []messages.Flag{messages.FlagOutputLost}
	}
	j.applyLost(lost)
}

// fail ends a job that reached no keeper.
func (j *job) fail(e messages.Error) {
	j.mu.Lock()
	j.spec, j.ended, j.reported.result = nil, true, true
	j.lastHeard++
	j.lastDelivered = j.lastHeard
	j.enqueue(messages.ProcessFailed{Seq: j.lastHeard, Err: e, Shell: backends.CannotRun, At: time.Now()})
	j.deliver()
}

// settleRest settles the facts of a job whose owner has settled all: a new keeper may
// have numbered them again. The caller holds mu.
func (j *job) settleRest() {
	if j.startTimedOut == nil && j.ended && j.settled >= j.lastDelivered && j.settled > 0 && j.lastHeard > j.settled {
		j.settled = j.lastHeard
		j.ask(askSettle, encode(number{Seq: j.lastHeard}))
	}
}

// answer matches an answer to its control: by number, or in order for an older keeper,
// which sends none. The caller holds mu.
func (j *job) answer(f messages.ControlAnswer) {
	nth := f.Answers()
	if i := slices.IndexFunc(j.staleAnswers, func(n uint64) bool { return nth == 0 || n == nth }); i >= 0 {
		j.staleAnswers = slices.Delete(j.staleAnswers, i, i+1)
		return
	}
	for _, d := range j.pendingControls {
		if d.fact == nil && (nth == 0 || d.nth == nth) {
			d.fact = f
			break
		}
	}
	j.sayAnswers()
}

// sayAnswers queues the known answers. The caller holds mu.
func (j *job) sayAnswers() {
	j.pendingControls = backends.DeliverAnswered(j.pendingControls, (*pendingControl).known, func(d *pendingControl) {
		fact := d.fact
		if f, is := fact.(messages.ControlAnswer); is {
			fact = f.Answering(d.nth)
		}
		j.enqueue(fact)
	})
}

// refuseDue answers all pending controls with f. The caller holds mu.
func (j *job) refuseDue(f messages.ProcessFact) {
	for _, d := range j.pendingControls {
		if d.fact == nil {
			d.fact = f
		}
	}
	j.sayAnswers()
}

func refusal(code messages.Code, text string) messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{Code: code, Message: text}}
}

// unbind removes the owner.
func (j *job) unbind() {
	j.mu.Lock()
	b := j.bound
	j.bound, j.queue = nil, nil
	j.mu.Unlock()
	b.End()
}
