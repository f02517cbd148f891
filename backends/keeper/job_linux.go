package keeper

import (
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// job is a job of the keeper, as the client knows it: what was heard of it, and
// what is wanted of it, so that a new keeper can be told.
type job struct {
	c        *Client
	id       messages.UID
	separate bool

	mu      sync.Mutex
	gen     uint64 // of the newest binding: facts of another are not its
	bound   *backends.Binding
	queue   []messages.ProcessFact // to tell
	telling bool

	spec        *backends.Spec // until the start was answered
	startExpiry time.Time      // the keeper does not take it later
	number      uint64         // of its message
	line        *link          // on which that went
	suspended   bool           // nothing is sent: a new keeper is told when it has said what it knows

	hasLogs         bool     // it has logs
	ended           bool     // nothing follows
	settledAll      bool     // and all of it is settled: the keeper forgets the job
	reported        reported // to the owner
	exit            messages.Sizes
	lastHeard       uint64            // highest number of a fact the keeper told
	lastDelivered   uint64            // and that the owner was told
	pendingControls []*pendingControl // controls that are not answered yet
	staleAnswers    []uint64          // the numbers of some that were refused, and whose answers are to come
	logs            [3]*remoteLog
	order           []byte // of two small ones

	recorded bool // the journal of the owner has them: the keeper need not. Under Client.mu

	meta     []byte
	metaSent bool
	stopped  *stop
	graceEnd time.Time // when its grace is over
	settled  uint64
	credit   [3]*growthRequest

	startTimedOut *messages.ProcessFailed // it was told so, while the keeper said nothing
}

// reported is what an owner has heard: a new keeper, and one that was not heard for a
// while, tell it again.
type reported struct{ started, main, result, closed, ended bool }

// pendingControl is one control whose answer the owner waits for.
type pendingControl struct {
	nth  uint64 // its number; 0: it has none, and is answered in its order
	fact messages.ProcessFact
}

func (d *pendingControl) known() (nth uint64, known bool) { return d.nth, d.fact != nil }

func newJob(c *Client, id messages.UID, separate bool) *job {
	return &job{c: c, id: id, separate: separate}
}

// deliver tells what is queued, unless another goroutine is at it. Called with mu,
// which it gives back.
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

// enqueue queues a fact. Called with mu.
func (j *job) enqueue(f messages.ProcessFact) {
	if j.bound != nil {
		j.queue = append(j.queue, f)
	}
}

// onFact takes a fact from the keeper.
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

// applyFact says what of a fact is news. Called with mu.
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

// once says a fact that an owner hears once. Called with mu.
func once(j *job, said *bool, f messages.ProcessFact) {
	if !*said {
		*said = true
		j.enqueue(f)
	}
}

// count counts a number that was heard. Called with mu.
func (j *job) count(seq uint64) { j.lastHeard = max(j.lastHeard, seq) }

// applyExit takes the result, and what it says of the rest. Called with mu.
func (j *job) applyExit(f messages.ProcessExited) {
	j.count(max(f.Seq, f.Last))
	j.exit = f.Sizes
	if f.Last > 0 { // the engine answers nothing behind its last word
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

// applyLost ends a job that nobody knows the end of. Of one whose result was told
// only the rest is. Called with mu.
func (j *job) applyLost(f messages.ProcessLost) {
	j.spec = nil
	if j.reported.result {
		j.takeClosed(messages.OutputClosed{Seq: f.Seq, Sizes: j.exit})
		j.takeEnded(messages.TreeEnded{Seq: f.Seq, Survivors: f.Survivors})
		return
	}
	j.count(f.Seq)
	j.lastDelivered, j.ended = max(j.lastDelivered, f.Seq), true
	j.refuseDue(refusal(messages.JobFinished, "the process is lost"))
	once(j, &j.reported.result, f)
}

// markLost ends a job without a word of a keeper. Called with mu.
func (j *job) markLost(why string) {
	j.applyLost(messages.ProcessLost{
		Seq: max(j.lastHeard, j.lastDelivered) + 1, At: time.Now(),
		Err: *refused(messages.Internal, "keeper", why, "its output, as far as it was in a file, is there"),
	})
}

// fail ends a job that no keeper was asked for.
func (j *job) fail(e messages.Error) {
	j.mu.Lock()
	j.spec, j.ended, j.reported.result = nil, true, true
	j.lastHeard++
	j.lastDelivered = j.lastHeard
	j.enqueue(messages.ProcessFailed{Seq: j.lastHeard, Err: e, Shell: cannotRun, At: time.Now()})
	j.deliver()
}

// settleRest settles for an owner that has settled all it was told, when a new
// keeper has numbered the same facts anew. Called with mu.
func (j *job) settleRest() {
	if j.startTimedOut == nil && j.ended && j.settled >= j.lastDelivered && j.settled > 0 && j.lastHeard > j.settled {
		j.settled = j.lastHeard
		j.ask(askSettle, encode(number{Seq: j.lastHeard}))
	}
}

// answer answers a control that is due: the one of its number, or the first, for a
// keeper of an older build gives none, and answers in the order in which it was asked.
// Called with mu.
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

// sayAnswers says what is known. Called with mu.
func (j *job) sayAnswers() {
	j.pendingControls = backends.DeliverAnswered(j.pendingControls, (*pendingControl).known, func(d *pendingControl) {
		fact := d.fact
		if f, is := fact.(messages.ControlAnswer); is {
			fact = f.Answering(d.nth)
		}
		j.enqueue(fact)
	})
}

// refuseDue answers everything that is not. Called with mu.
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

// unbind lets nobody hear any more.
func (j *job) unbind() {
	j.mu.Lock()
	b := j.bound
	j.bound, j.queue = nil, nil
	j.mu.Unlock()
	b.End()
}
