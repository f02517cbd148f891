package actors

import (
	"cmp"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// recorder writes facts to a journal that may wait. It appends all queued facts at once, in
// the order of their numbers, and confirms each to the supervisor (parent). It answers the
// channels whose reads the supervisor passes on.
//
// It holds nothing unique. The supervisor sends facts again that a crash has lost, after
// recorderReady.
type recorder struct {
	deps *Deps

	ready   bool
	next    messages.Seq // of the next fact to queue
	pending []record
	aside   JournalEntry // written with pending
	armed   bool         // a commit is in the mailbox or its timer runs

	failing error         // of the newest try; nil: the journal works
	wait    time.Duration // before the next try
	gen     int
	cancel  scheduler.CancelFunc
}

// Delays before a failing journal is tried again.
const (
	recordRetryFirst = 100 * time.Millisecond
	recordRetryMost  = 5 * time.Second
)

// maxCommit bounds the facts of one write, so that confirmations do not all wait for the end
// of a long queue.
const maxCommit = 1024

// commit tells the recorder to write the queued facts, or to try again.
type commit struct {
	noDeadLetter
	gen int
}

func recorderProps(d *Deps) *actor.Props {
	return d.apart(func() actor.Actor { return &recorder{deps: d} })
}

// Receive implements actor.Actor.
func (r *recorder) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		r.open(ctx)
	case *actor.Stopping, *actor.Restarting:
		r.abandon()
	case record:
		r.take(ctx, msg)
	case recordAside:
		if r.ready { // else it is lost, as after a crash
			r.aside.add(msg.entry)
			r.arm(ctx)
		}
	case commit:
		r.commit(ctx, msg)
	case readFacts:
		r.read(ctx, msg)
	default:
		unhandled(ctx, r.deps)
	}
}

// open reads the newest number of the journal and reports recorderReady.
func (r *recorder) open(ctx actor.Context) {
	last, err := r.deps.Journal.Last()
	if err != nil {
		r.fail(ctx, err)
		return
	}
	r.works(ctx)
	r.ready, r.armed, r.next = true, false, last+1
	ctx.Send(ctx.Parent(), recorderReady{last: last})
}

// take queues a fact. It confirms a fact that the journal has already.
func (r *recorder) take(ctx actor.Context, m record) {
	fact := m.fact
	switch {
	case !r.ready || fact.Seq > r.next:
		return // the supervisor sends it again, in order
	case fact.Seq < r.next:
		if fact.Seq <= r.written() {
			ctx.Send(ctx.Parent(), fact)
		}
		return
	}
	r.pending = append(r.pending, m)
	r.next++
	r.arm(ctx)
}

// arm queues a commit after the messages that are in the mailbox now.
func (r *recorder) arm(ctx actor.Context) {
	if !r.armed {
		r.armed = true
		ctx.Send(ctx.Self(), commit{gen: r.gen})
	}
}

// written returns the number of the newest fact in the journal.
func (r *recorder) written() messages.Seq {
	return r.next - 1 - messages.Seq(len(r.pending))
}

func (r *recorder) commit(ctx actor.Context, msg commit) {
	switch {
	case msg.gen != r.gen:
		return
	case !r.ready:
		r.open(ctx)
		return
	}
	batch := r.pending[:min(len(r.pending), maxCommit)]
	all := r.aside
	all.Facts = make([]messages.FactRecorded, 0, len(batch))
	for _, m := range batch {
		all.Facts = append(all.Facts, m.fact)
		if m.key.Key != "" {
			all.Keys = append(all.Keys, m.key)
		}
		if m.request.Run != nil {
			all.Requests = append(all.Requests, m.request)
		}
	}
	all.Outputs = r.outputs(all.Facts)
	if err := write(r.deps.Journal, all); err != nil {
		r.fail(ctx, err)
		return
	}
	r.works(ctx)
	r.keep(all.Outputs)
	r.armed, r.pending, r.aside = false, r.pending[len(batch):], JournalEntry{}
	for _, fact := range all.Facts {
		ctx.Send(ctx.Parent(), fact)
	}
	if len(r.pending) > 0 {
		r.arm(ctx)
		return
	}
	r.pending = nil
}

// outputs returns the small outputs of the jobs that the facts retire.
func (r *recorder) outputs(facts []messages.FactRecorded) (all []SmallOutput) {
	logs, ok := r.deps.Logs.(SmallLogs)
	if !ok || !r.deps.lasts() {
		return nil
	}
	for _, f := range facts {
		if last, ok := f.Fact.(messages.CommandRetired); ok {
			all = append(all, logs.Small(last.Job)...)
		}
	}
	return all
}

// keep tells the logs which outputs the journal has now.
func (r *recorder) keep(outputs []SmallOutput) {
	for i, o := range outputs {
		if i == 0 || o.UID != outputs[i-1].UID {
			r.deps.Logs.(SmallLogs).Recorded(o.UID)
		}
	}
}

// fail reports that the journal takes no facts. It keeps the pending facts and tries again
// later, unless the error is permanent.
func (r *recorder) fail(ctx actor.Context, err error) {
	never := lastWord(err) != nil
	ctx.Send(ctx.Parent(), recordFailed{err: err, never: never})
	r.failing, r.armed = err, true
	if never {
		return
	}
	r.wait = min(max(2*r.wait, recordRetryFirst), recordRetryMost)
	r.gen++
	r.cancel = sendLater(ctx, r.wait, commit{gen: r.gen})
}

// lastWord returns the permanent error of a journal: one with a hint. Else it returns nil.
func lastWord(err error) *messages.Error {
	var coded *messages.Error
	if errors.As(err, &coded) && coded.Hint != "" {
		return coded
	}
	return nil
}

// works reports once that the journal takes facts again.
func (r *recorder) works(ctx actor.Context) {
	if r.failing != nil {
		ctx.Send(ctx.Parent(), recordFailed{})
	}
	r.failing, r.wait = nil, 0
}

// read answers a channel from the journal. Pending facts are delivered to it later. A journal
// that will never be read takes no facts either.
func (r *recorder) read(ctx actor.Context, m readFacts) {
	if r.ready {
		if err := answerRead(ctx, r.deps.Journal, m, r.written()); lastWord(err) != nil && r.failing == nil {
			r.fail(ctx, err)
		}
		return
	}
	refuseRead(ctx, m, cmp.Or(r.failing, errNotOpen))
}

// errNotOpen is the error of reads before the journal is open.
var errNotOpen = errors.New("the journal is not open yet")

// refuseRead answers a channel that its page cannot be read.
func refuseRead(ctx actor.Context, m readFacts, err error) {
	if ctx.Sender() != nil && reachable(ctx, ctx.Sender()) {
		ctx.Respond(factsRead{after: m.after, err: err})
	}
}

// answerRead answers a channel from a journal whose newest fact is last. It returns the error of
// the journal.
func answerRead(ctx actor.Context, j Journal, m readFacts, last messages.Seq) error {
	if ctx.Sender() == nil || !reachable(ctx, ctx.Sender()) {
		return nil
	}
	answer := factsRead{after: m.after, last: last}
	answer.facts, answer.err = j.Read(m.after, min(max(m.limit, 1), messages.MaxOutbox))
	ctx.Respond(answer)
	return answer.err
}

func (r *recorder) abandon() {
	if r.cancel != nil {
		r.cancel()
	}
}

// reachable reports whether an actor exists at pid. Clients may have gone; messages to them
// would be dead letters.
func reachable(ctx interface{ ActorSystem() *actor.ActorSystem }, pid *actor.PID) bool {
	_, ok := ctx.ActorSystem().ProcessRegistry.Get(pid)
	return ok
}
