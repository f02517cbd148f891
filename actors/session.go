package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
)

// session owns one executor and the commands in it. After a crash of a command it spawns a
// new one, which adopts the job. It sends messages to its scope (parent) and its commands
// (children).
type session struct {
	deps       *Deps
	open       messages.OpenSession
	inherited  []backends.InventoryJob
	noExecutor bool // opened without an executor, after too many crashes
	// tentative says that only a command has asked for the session (docs/decisions/038).
	tentative bool
	announced bool // sessionOpened is sent

	executor     backends.Executor // nil: none
	capabilities backends.Capabilities
	failed       *messages.Error // why there is no executor
	neverRan     bool            // no command has started in this shell; its setup may be the reason
	ran          bool            // a command has started, or may have
	snapshot     snapshotTaken
	machine      lifecycle.Session
	jobs         map[messages.JobID]*ticket
	unchecked    []*ticket // jobs that wait for a check; that of the first runs
	byPID        map[string]*ticket
	adopted      time.Time        // of the last adoption
	settled      []messages.JobID // settled, not yet reported
	closing      *closing         // nil: open
}

// settledAtOnce is the number of settled jobs in one report.
const settledAtOnce = 16

// ticket is the session's state of one job, until its end is settled.
type ticket struct {
	place          placement         // its job is the record reported last
	pid            *actor.PID        // of the command actor; nil: none
	slotGranted    bool              // the job may start
	replaced       bool              // it was placed before with a slot and may have started
	reportSettled  bool              // report at once that it is settled
	endLeft        bool              // its end stays with the engine: never report it as settled
	handingOver    bool              // it is handed over when its actor has stopped
	flags          []messages.Flag   // that the session adds to its record
	deferred       []deferredRequest // requests before it was accepted
	checkCancelled chan struct{}     // closed when its check is not needed any more
	crashes        crashes
	unsupervised   *unsupervisedJob // nil: the job has an actor
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
	case *actor.Stopped: // after its commands, one of which may have been about to start
		s.release()
	case *actor.Terminated:
		if s.byPID[msg.Who.Id] != nil {
			ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // after the child's remaining messages
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

// place queues a new job or adopts one that exists.
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
	if there, twice := s.jobs[id]; twice { // two actors above have crashed: it was placed for each
		switch {
		case there.slotGranted || there.place.job.State != messages.Queued:
		case state == messages.Starting: // a crash has lost its slot
			s.perform(ctx, s.machine.Step(lifecycle.SlotGranted{Job: id}))
		default:
			s.perform(ctx, s.machine.Step(lifecycle.Enqueued{Job: id, Held: p.held}))
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
		p.job.EnvDropped = nil // the shell has its own environment
	}
	p.job.Terminal = s.terminal(p.job.Terminal)
	if !s.capabilities.Separate && p.job.State == messages.Queued { // the executor has one stream
		p.job.Output = []messages.StreamOutput{{Stream: messages.Merged}}
	}
	if p.slotGranted && state == messages.Starting && !p.inherited { // it may have started: then it does not queue
		_, err := adopt(s.executor.Adopt, p.job.UID, func(messages.ProcessFact) {})
		p.inherited = err == nil
		t.place.inherited = p.inherited
	}
	if t.replaced = p.slotGranted && state == messages.Starting && !p.inherited; t.replaced {
		p.job.State = messages.Queued // it starts as a new job
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

// accept takes a job that has passed its check.
func (s *session) accept(ctx actor.Context, t *ticket) {
	p, id := t.place, t.place.job.ID
	if s.failed != nil {
		s.refuse(ctx, id, s.failed)
		t.refuseEarly(ctx, s.failed)
		return
	}
	event := any(lifecycle.Enqueued{Job: id, Turn: p.slotGranted, Held: p.held})
	switch {
	case p.job.State != messages.Queued:
		event = lifecycle.Taken{Job: id}
	case p.job.Seq > 0 || t.replaced:
		event = lifecycle.Moved{Job: id, Turn: p.slotGranted, Held: p.held}
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
	s.spawn(ctx, t) // with its slot, if perform has granted it
	t.passEarly(ctx)
	if p.job.State == messages.Queued && s.machine.Waits(id) {
		s.applyUpdate(ctx, jobUpdate{fact: messages.CommandQueued{}, job: p.job})
	}
	if p.job.State.Ended() {
		s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: id}))
	}
}

// returnSlot returns the slot of a job that waits for a check, so that others may start.
func (s *session) returnSlot(ctx actor.Context, t *ticket) {
	if t.place.slotGranted {
		t.place.slotGranted = false
		ctx.Send(ctx.Parent(), slotReturned{job: t.place.job.ID})
	}
}

func (s *session) refuse(ctx actor.Context, id messages.JobID, err *messages.Error) {
	ctx.Send(ctx.Parent(), placeRejected{job: id, err: *err})
}

// spawn spawns the command actor of a job. It starts a job with a slot whose start was not
// reported: the engine does not start an id twice.
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

// noteAdopted records an adoption. The former actor may have received recorded, so it is
// requested again.
func (s *session) noteAdopted(ctx actor.Context, job *messages.Record) {
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

// answered returns how far the terminal queries of a job are answered. After a crash of its
// actor that is unknown.
func (t *ticket) answered(adopt bool) int64 {
	if !adopt {
		return 0
	}
	known := t.place.answered
	t.place.answered = unknownAnswers
	return known
}

// replace spawns a new actor for a job whose actor has crashed, or marks the job unsupervised
// after too many crashes.
func (s *session) replace(ctx actor.Context, who *actor.PID) {
	t, ok := s.byPID[who.Id]
	if !ok {
		return // it was stopped after childDone
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
		s.stop(ctx, t, s.closing.ask) // the crashed actor may have lost it
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
			if t.pid != nil && !t.handingOver { // else its next session starts it
				ctx.Send(t.pid, startGranted{dir: dir})
			}
		}
	}
}

// applyUpdate stores the record of an update and passes the update up.
func (s *session) applyUpdate(ctx actor.Context, n jobUpdate) {
	t, ok := s.jobs[n.job.ID]
	if !ok {
		return // it was handed over; its new session receives the fact again
	}
	n.job = t.flagged(n.job)
	ended := t.place.job.State.Ended()
	t.place.job = n.job
	if hasStarted(n.job.State) {
		t.place.run, t.place.env = nil, nil
	}
	ctx.Send(ctx.Parent(), n)
	if s.closing != nil && n.job.State.Ended() {
		s.closing.survived(n.job.End.Survivors)
	}
	if !ended && n.job.State.Ended() {
		s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: n.job.ID}))
		s.closeStep(ctx)
	}
}

// retire stops a command that is done.
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
		ctx.Stop(t.pid) // no request is queued: the supervisor answers for retired jobs
	}
	s.closeStep(ctx)
}

// tellSettled reports the settled jobs.
func (s *session) tellSettled(ctx actor.Context) {
	if len(s.settled) > 0 {
		ctx.Send(ctx.Parent(), settled{jobs: s.settled})
		s.settled = nil
	}
}

// unsettled passes up that the engine keeps the end of a job.
func (s *session) unsettled(ctx actor.Context, m unsettled) {
	if t := s.jobs[m.job]; t != nil {
		t.endLeft = true
	}
	ctx.Send(ctx.Parent(), m)
}

// settledAsked reports the settled jobs now, and this job as soon as it is settled.
func (s *session) settledAsked(ctx actor.Context, id messages.JobID) {
	if t := s.jobs[id]; t != nil {
		t.reportSettled = true
	}
	s.tellSettled(ctx)
}

// abandon releases unsupervised jobs and cancels checks and the timer.
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

// release releases the executor. The engine keeps its jobs.
func (s *session) release() {
	if s.executor != nil {
		s.executor.Release()
	}
}
