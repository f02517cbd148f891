package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
)

// session owns one place to run and the commands in it. It is the guarantor of
// its jobs: a command actor that dies is replaced, and the job is adopted. It
// speaks with its scope (parent), its commands (children) and the node (turns,
// by way of the scope).
type session struct {
	deps       *Deps
	open       messages.OpenSession
	inherited  []backends.InventoryJob
	noExecutor bool // without a place: it failed too often
	// tentative says that nobody but a command has asked for it (docs/decisions/038).
	tentative bool
	announced bool // the node was told that it is open

	executor     backends.Executor
	capabilities backends.Capabilities
	failed       *messages.Error // the place could not be opened
	neverRan     bool            // no command of the live shell ever began: the last was refused for what the shell begins with, maybe
	ran          bool            // one did, or may have
	snapshot     snapshotTaken
	machine      lifecycle.Session
	jobs         map[messages.JobID]*ticket
	unchecked    []*ticket // they wait for a look, the first for its result
	byPID        map[string]*ticket
	adopted      time.Time        // when an actor was last put around a job that existed
	settled      []messages.JobID // the node has not heard so yet
	closing      *closing
}

// settledAtOnce is of how many jobs the node hears at one go that they are settled.
const settledAtOnce = 16

// ticket is the session's promise about one job: it is heard of until it ends.
type ticket struct {
	place          placement // its job is the record as it was last told
	pid            *actor.PID
	slotGranted    bool              // it may start
	replaced       bool              // it was placed before, and may have begun
	reportSettled  bool              // the node is to hear at once that it is settled
	endLeft        bool              // … and not that: its end stays with the engine
	handingOver    bool              // it is given away when its actor is gone
	flags          []messages.Flag   // … of the session's own to its record
	deferred       []deferredRequest // what was asked of it before it was accepted
	checkCancelled chan struct{}     // closed when nobody waits for a look at it any more
	crashes        crashes
	unsupervised   *unsupervisedJob // supervised without an actor: its actors crashed too often
}

func newSession(d *Deps, o openSession) *session {
	return &session{
		deps: d, open: o.ask, inherited: o.held, noExecutor: o.bare, tentative: o.tentative, machine: lifecycle.NewSession(1, 0),
		jobs: map[messages.JobID]*ticket{}, byPID: map[string]*ticket{},
	}
}

// Receive implements actor.Actor.
func (s *session) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *actor.Stopping:
		s.abandon(ctx)
	case *actor.Stopped: // and with it its commands, one of which may have been about to start
		s.release()
	case *actor.Terminated:
		if s.byPID[msg.Who.Id] != nil {
			ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // behind the child's last words
		}
	case childStopped:
		s.replace(ctx, msg.who)
	case placement:
		s.place(ctx, msg)
	case routed:
		s.routed(ctx, msg)
	case jobUpdate:
		s.applyUpdate(ctx, msg)
	case shellDir:
		s.dirChanged(ctx, msg.dir)
	case messages.SessionReplaced:
		s.replaced(ctx, msg)
	case messages.SnapshotTried:
		s.snapshotTried(ctx, msg)
	case messages.ShellClosed:
		s.shellClosed(ctx, msg)
	case unsettled:
		s.unsettled(ctx, msg)
	case childDone:
		s.retire(ctx, s.byPID[msg.who.Id])
	case unsupervisedFact:
		s.onUnsupervisedFact(ctx, msg)
	case checkResult:
		s.checkDone(ctx, msg)
	default:
		s.closingStep(ctx, msg)
	}
}

// place takes a job in: to its queue, or, if it exists, to stand around it.
func (s *session) place(ctx actor.Context, p placement) {
	id, state := p.job.ID, p.job.State
	t := &ticket{place: p, slotGranted: state == messages.Starting && !p.slotGranted && !p.inherited}
	if isNew(p.job) && (p.options.open != nil || s.tentative && s.unopened()) {
		s.reopen(ctx, p.options.plan())
	}
	if s.failed != nil && (p.inherited || state != messages.Queued) {
		s.adoptWithoutExecutor(ctx, t)
		return
	}
	if s.failed != nil {
		s.refuse(ctx, id, s.failed)
		return
	}
	if s.unseenAt(id) >= 0 {
		return // placed twice, as below
	}
	if there, twice := s.jobs[id]; twice { // two of those above it died: it was placed for each
		switch {
		case there.slotGranted || there.place.job.State != messages.Queued:
		case state == messages.Starting: // its turn was lost on the way
			s.perform(ctx, s.machine.Step(lifecycle.SlotGranted{Job: id}))
		default:
			s.perform(ctx, s.machine.Step(lifecycle.Enqueued{Job: id}))
		}
		return
	}
	if isNew(p.job) {
		if err := s.checkFits(p.run); err != nil {
			s.refuse(ctx, id, err)
			return
		}
	}
	p.job.Backend, p.job.Dir = s.open.Backend, s.startDir(p)
	if s.capabilities.Keeps {
		p.job.EnvDropped = nil // nothing was left out: the shell has its own environment
	}
	p.job.Terminal = s.terminal(p.job.Terminal)
	if !s.capabilities.Separate && p.job.State == messages.Queued { // whatever was asked for
		p.job.Output = []messages.StreamOutput{{Stream: messages.Merged}}
	}
	if p.slotGranted && state == messages.Starting && !p.inherited { // it may have begun: then it does not wait behind others
		_, err := adopt(s.executor.Adopt, p.job.UID, func(messages.ProcessFact) {})
		p.inherited = err == nil
		t.place.inherited = p.inherited
	}
	if t.replaced = p.slotGranted && state == messages.Starting && !p.inherited; t.replaced {
		p.job.State = messages.Queued // it begins as any other, if it can
	}
	if state == messages.Queued && s.closing == nil && (len(s.unchecked) > 0 || !s.executor.Runnable(s.spec(t))) {
		s.returnSlot(ctx, t)
		if s.unchecked = append(s.unchecked, t); len(s.unchecked) == 1 {
			s.startCheck(ctx)
		}
		return
	}
	s.accept(ctx, t)
}

// accept takes a job that can be run, as far as can be told.
func (s *session) accept(ctx actor.Context, t *ticket) {
	p, id := t.place, t.place.job.ID
	if s.failed != nil {
		s.refuse(ctx, id, s.failed)
		t.refuseEarly(ctx, s.failed)
		return
	}
	event := any(lifecycle.Enqueued{Job: id, Turn: p.slotGranted})
	switch {
	case p.job.State != messages.Queued:
		event = lifecycle.Taken{Job: id}
	case p.job.Seq > 0 || t.replaced:
		event = lifecycle.Moved{Job: id, Turn: p.slotGranted}
	}
	todo := s.machine.Step(event)
	if len(todo) > 0 {
		if r, ok := todo[0].(lifecycle.RefuseJob); ok {
			s.refuse(ctx, id, &r.Err)
			t.refuseEarly(ctx, &r.Err)
			return
		}
	}
	s.announce(ctx)
	s.jobs[id], s.ran, s.neverRan = t, true, false
	s.perform(ctx, todo)
	s.spawn(ctx, t) // with its turn, if it has one by now
	t.passEarly(ctx)
	if p.job.State == messages.Queued && s.machine.Waits(id) {
		s.applyUpdate(ctx, jobUpdate{fact: messages.CommandQueued{}, job: p.job})
	}
	if p.job.State.Ended() {
		s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: id}))
	}
}

// returnSlot gives back the turn that a job came with: others may start before it.
func (s *session) returnSlot(ctx actor.Context, t *ticket) {
	if t.place.slotGranted {
		t.place.slotGranted = false
		ctx.Send(ctx.Parent(), slotReturned{job: t.place.job.ID})
	}
}

func (s *session) refuse(ctx actor.Context, id messages.JobID, err *messages.Error) {
	ctx.Send(ctx.Parent(), placeRejected{job: id, err: *err})
}

// spawn puts an actor around a job. A job that was not heard to start is
// started again if it has its turn: the engine joins an id that it knows.
func (s *session) spawn(ctx actor.Context, t *ticket) {
	job := t.place.job
	adopt := t.place.inherited || hasStarted(job.State)
	c := s.newCommand(t, adopt)
	t.pid = ctx.SpawnPrefix(s.deps.props(func() actor.Actor { return c }), kindCommand+string(job.ID))
	s.byPID[t.pid.Id] = t
	if adopt {
		s.noteAdopted(ctx, job)
	}
}

// noteAdopted notes that a job is adopted. That the journal has its end may have
// been told to the actor before: it is asked for again.
func (s *session) noteAdopted(ctx actor.Context, job *messages.Job) {
	s.adopted = clock()
	if job.State.Ended() {
		ctx.Send(ctx.Parent(), queryRecorded{at: messages.Address{Job: job.ID, Scope: s.open.Scope, Session: s.open.Session}})
	}
}

func (s *session) newCommand(t *ticket, adopt bool) *command {
	c := &command{
		deps: s.deps, shell: s.executor, adopt: adopt, slotGranted: t.slotGranted && !adopt, dirRequested: t.place.options.named,
		machine: lifecycle.Rebuild(t.place.job, limits(t.place)), meta: s.memos(t), metaSaved: t.place.recovery != nil && t.place.recovery.noted,
	}
	if t.place.run != nil {
		spec := s.spec(t)
		c.spec = &spec
	}
	c.terminal = newTerminal(*t.place.job, t.answered(adopt))
	c.terminal.shownBy(t.place.options, t.place.job.Background)
	return c
}

// answered is how far what was asked of the terminal of a job has an answer: of one
// that an actor was around already, nobody knows.
func (t *ticket) answered(adopt bool) int64 {
	if !adopt {
		return 0
	}
	known := t.place.answered
	t.place.answered = unknownAnswers
	return known
}

// replace puts a new actor around a job whose actor died. Lost is said only of
// a job that the engine no longer knows, so that it never means "still running".
func (s *session) replace(ctx actor.Context, who *actor.PID) {
	t, ok := s.byPID[who.Id]
	if !ok {
		return // it had said its last word
	}
	delete(s.byPID, who.Id)
	if t.handingOver {
		s.handedOver(ctx, t)
		return
	}
	if t.crashes.add(clock()) {
		s.runUnsupervised(ctx, t)
	} else {
		s.spawn(ctx, t)
	}
	if s.closing != nil && !t.place.job.State.Ended() {
		s.stop(ctx, t, s.closing.ask) // it may have been told to the actor that died
	}
}

func (s *session) perform(ctx actor.Context, todo []lifecycle.SessionEffect) {
	for _, effect := range todo {
		switch e := effect.(type) {
		case lifecycle.RequestSlot:
			ctx.Send(ctx.Parent(), slotRequested{job: e.Job})
		case lifecycle.ReturnSlot:
			ctx.Send(ctx.Parent(), slotReturned{job: e.Job})
		case lifecycle.Begin:
			t := s.jobs[e.Job]
			t.slotGranted = true
			dir := s.startInDir(t)
			if t.pid != nil && !t.handingOver { // its next place begins it
				ctx.Send(t.pid, startGranted{dir: dir})
			}
		}
	}
}

// applyUpdate keeps what is told of a job and passes the news up.
func (s *session) applyUpdate(ctx actor.Context, n jobUpdate) {
	t, ok := s.jobs[n.job.ID]
	if !ok {
		return // it was handed over; its new place hears it again
	}
	n.job = t.flagged(n.job)
	ended := t.place.job.State.Ended()
	t.place.job = n.job
	if hasStarted(n.job.State) {
		t.place.run, t.place.env = nil, nil
	}
	ctx.Send(ctx.Parent(), n)
	if s.closing != nil && n.job.State.Ended() {
		s.closing.survived(n.job.Survivors)
	}
	if !ended && n.job.State.Ended() {
		s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: n.job.ID}))
		s.closeStep(ctx)
	}
}

// retire lets a command go that has nothing left to do.
func (s *session) retire(ctx actor.Context, t *ticket) {
	switch {
	case t == nil:
		return
	case t.handingOver:
		poisonChild(ctx, t.pid)
		return
	}
	delete(s.jobs, t.place.job.ID)
	if !t.endLeft {
		s.settled = append(s.settled, t.place.job.ID)
	}
	if len(s.settled) >= settledAtOnce || t.reportSettled || s.closing != nil {
		s.tellSettled(ctx)
	}
	if t.pid != nil {
		delete(s.byPID, t.pid.Id)
		ctx.Stop(t.pid) // nothing is behind its last word: the node answers for the job since before
	}
	s.closeStep(ctx)
}

// tellSettled tells the node what is settled.
func (s *session) tellSettled(ctx actor.Context) {
	if len(s.settled) > 0 {
		ctx.Send(ctx.Parent(), settled{jobs: s.settled})
		s.settled = nil
	}
}

// unsettled passes up what a job leaves with its engine.
func (s *session) unsettled(ctx actor.Context, m unsettled) {
	if t := s.jobs[m.job]; t != nil {
		t.endLeft = true
	}
	ctx.Send(ctx.Parent(), m)
}

// querySettled tells the node what is settled, and of this job as soon as it is.
func (s *session) settledAsked(ctx actor.Context, id messages.JobID) {
	if t := s.jobs[id]; t != nil {
		t.reportSettled = true
	}
	s.tellSettled(ctx)
}

// abandon lets go of the jobs without an actor, of the looks, and of its timer.
func (s *session) abandon(ctx actor.Context) {
	for _, t := range s.unchecked {
		t.giveUpLook()
		t.refuseEarly(ctx, internalError())
	}
	for _, t := range s.jobs {
		if t.unsupervised != nil {
			t.unsupervised.abandon(ctx, internalError())
		}
	}
	if s.closing != nil && s.closing.look != nil {
		s.closing.look()
	}
}

// release lets go of the place; what it holds lives on with the engine.
func (s *session) release() {
	if s.executor != nil {
		s.executor.Release()
	}
}
