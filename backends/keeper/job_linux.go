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

	spec   *backends.Spec // until the start was answered
	until  time.Time      // the keeper does not take it later
	number uint64         // of its message
	line   *line          // on which that went
	held   bool           // nothing is sent: a new keeper is told when it has said what it knows

	born  bool // it has logs
	over  bool // nothing follows
	done  bool // and all of it is settled: the keeper forgets the job
	said  said // to the owner
	exit  messages.Sizes
	heard uint64   // highest number of a fact the keeper told
	told  uint64   // and that the owner was told
	due   []*due   // controls that are not answered yet
	stale []uint64 // the numbers of some that were refused, and whose answers are to come
	outs  [3]*outlog
	order []byte // of two small ones

	recorded bool // the journal of the owner has them: the keeper need not. Under Client.mu

	note    []byte
	noted   bool
	stopped *stop
	graced  time.Time // when its grace is over
	settled uint64
	credit  [3]*watch

	withdrawn *messages.ProcessFailed // it was told so, while the keeper said nothing
}

// said is what an owner has heard: a new keeper, and one that was not heard for a
// while, tell it again.
type said struct{ started, main, result, closed, ended bool }

// due is one control whose answer the owner waits for.
type due struct {
	nth  uint64 // its number; 0: it has none, and is answered in its order
	fact messages.ProcessFact
}

func (d *due) known() (nth uint64, known bool) { return d.nth, d.fact != nil }

func newJob(c *Client, id messages.UID, separate bool) *job {
	return &job{c: c, id: id, separate: separate}
}

// tellNow tells what is queued, unless another goroutine is at it. Called with mu,
// which it gives back.
func (j *job) tellNow() {
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

// say queues a fact. Called with mu.
func (j *job) say(f messages.ProcessFact) {
	if j.bound != nil {
		j.queue = append(j.queue, f)
	}
}

// hear takes a fact from the keeper.
func (j *job) hear(gen uint64, f messages.ProcessFact) {
	j.mu.Lock()
	if gen != j.gen || j.held {
		j.mu.Unlock()
		return
	}
	if j.withdrawn != nil {
		j.tidy(f)
	} else {
		j.take(f)
	}
	j.settleRest()
	j.tellNow()
}

// take says what of a fact is news. Called with mu.
func (j *job) take(f messages.ProcessFact) {
	switch f := f.(type) {
	case messages.ProcessStarted:
		j.spec, j.born = nil, true
		once(j, &j.said.started, f)
	case messages.ProcessFailed:
		j.spec, j.born, j.over = nil, true, true
		j.count(f.Seq)
		j.refuseDue(refusal(messages.JobFinished, "the process was not started"))
		once(j, &j.said.result, f)
	case messages.MainExited:
		if !j.said.result {
			once(j, &j.said.main, f)
		}
	case messages.ProcessExited:
		j.takeExit(f)
	case messages.ProcessLost:
		j.takeLost(f)
	case messages.OutputClosed:
		j.takeClosed(f)
	case messages.TreeEnded:
		j.takeEnded(f)
	case messages.ControlAnswer:
		j.answer(f)
	case messages.OutputGrew:
		j.credit[f.Stream%3] = nil
		j.say(f)
	default:
		if !j.over {
			j.say(f)
		}
	}
}

// once says a fact that an owner hears once. Called with mu.
func once(j *job, said *bool, f messages.ProcessFact) {
	if !*said {
		*said = true
		j.say(f)
	}
}

// count counts a number that was heard. Called with mu.
func (j *job) count(seq uint64) { j.heard = max(j.heard, seq) }

// takeExit takes the result, and what it says of the rest. Called with mu.
func (j *job) takeExit(f messages.ProcessExited) {
	j.count(max(f.Seq, f.Last))
	j.exit = f.Sizes
	if f.Last > 0 { // the engine answers nothing behind its last word
		j.refuseDue(refusal(messages.JobFinished, "the process has exited"))
	}
	if !j.said.result {
		j.told = max(j.told, f.Seq)
	}
	once(j, &j.said.result, f)
	if f.Last > 0 {
		j.takeClosed(messages.OutputClosed{Seq: f.Last - 1, Sizes: f.Sizes, Outputs: f.Outputs})
		j.takeEnded(messages.TreeEnded{Seq: f.Last, Survivors: f.Survivors})
	}
}

func (j *job) takeClosed(f messages.OutputClosed) {
	j.count(f.Seq)
	if !j.said.closed {
		j.told = max(j.told, f.Seq)
	}
	once(j, &j.said.closed, f)
	j.over = j.said.closed && j.said.ended
}

func (j *job) takeEnded(f messages.TreeEnded) {
	j.count(f.Seq)
	if !j.said.ended {
		j.told = max(j.told, f.Seq)
	}
	once(j, &j.said.ended, f)
	j.over = j.said.closed && j.said.ended
}

// takeLost ends a job that nobody knows the end of. Of one whose result was told
// only the rest is. Called with mu.
func (j *job) takeLost(f messages.ProcessLost) {
	j.spec = nil
	if j.said.result {
		j.takeClosed(messages.OutputClosed{Seq: f.Seq, Sizes: j.exit})
		j.takeEnded(messages.TreeEnded{Seq: f.Seq, Survivors: f.Survivors})
		return
	}
	j.count(f.Seq)
	j.told, j.over = max(j.told, f.Seq), true
	j.refuseDue(refusal(messages.JobFinished, "the process is lost"))
	once(j, &j.said.result, f)
}

// lose ends a job without a word of a keeper. Called with mu.
func (j *job) lose(why string) {
	j.takeLost(messages.ProcessLost{
		Seq: max(j.heard, j.told) + 1, At: time.Now(),
		Err: *refused(messages.Internal, "keeper", why, "its output, as far as it was in a file, is there"),
	})
}

// fail ends a job that no keeper was asked for.
func (j *job) fail(e messages.Error) {
	j.mu.Lock()
	j.spec, j.over, j.said.result = nil, true, true
	j.heard++
	j.told = j.heard
	j.say(messages.ProcessFailed{Seq: j.heard, Err: e, Shell: cannotRun, At: time.Now()})
	j.tellNow()
}

// settleRest settles for an owner that has settled all it was told, when a new
// keeper has numbered the same facts anew. Called with mu.
func (j *job) settleRest() {
	if j.withdrawn == nil && j.over && j.settled >= j.told && j.settled > 0 && j.heard > j.settled {
		j.settled = j.heard
		j.ask(askSettle, encode(number{Seq: j.heard}))
	}
}

// answer answers a control that is due: the one of its number, or the first, for a
// keeper of an older build gives none, and answers in the order in which it was asked.
// Called with mu.
func (j *job) answer(f messages.ControlAnswer) {
	nth := f.Answers()
	if i := slices.IndexFunc(j.stale, func(n uint64) bool { return nth == 0 || n == nth }); i >= 0 {
		j.stale = slices.Delete(j.stale, i, i+1)
		return
	}
	for _, d := range j.due {
		if d.fact == nil && (nth == 0 || d.nth == nth) {
			d.fact = f
			break
		}
	}
	j.sayAnswers()
}

// sayAnswers says what is known. Called with mu.
func (j *job) sayAnswers() {
	j.due = backends.DeliverAnswered(j.due, (*due).known, func(d *due) {
		fact := d.fact
		if f, is := fact.(messages.ControlAnswer); is {
			fact = f.Answering(d.nth)
		}
		j.say(fact)
	})
}

// refuseDue answers everything that is not. Called with mu.
func (j *job) refuseDue(f messages.ProcessFact) {
	for _, d := range j.due {
		if d.fact == nil {
			d.fact = f
		}
	}
	j.sayAnswers()
}

func refusal(code messages.Code, text string) messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{Code: code, Message: text}}
}

// deafen lets nobody hear any more.
func (j *job) deafen() {
	j.mu.Lock()
	b := j.bound
	j.bound, j.queue = nil, nil
	j.mu.Unlock()
	b.End()
}
