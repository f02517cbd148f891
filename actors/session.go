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
	deps *Deps
	open messages.OpenSession
	held []backends.Held
	bare bool // without a place: it failed too often
	// tentative says that nobody but a command has asked for it (docs/decisions/038).
	tentative bool
	up        bool // the node was told that it is open

	shell    backends.Shell
	can      backends.Capabilities
	failed   *messages.Error // the place could not be opened
	vain     bool            // no command of the live shell ever began: the last was refused for what the shell begins with, maybe
	began    bool            // one did, or may have
	snapshot snapshotTaken
	machine  lifecycle.Session
	jobs     map[messages.JobID]*ticket
	unseen   []*ticket // they wait for a look, the first for its result
	byPID    map[string]*ticket
	adopted  time.Time        // when an actor was last put around a job that existed
	settled  []messages.JobID // the node has not heard so yet
	closing  *closing
}

// settledAtOnce is of how many jobs the node hears at one go that they are settled.
const settledAtOnce = 16

// ticket is the session's promise about one job: it is heard of until it ends.
type ticket struct {
	place   place // its job is the record as it was last told
	pid     *actor.PID
	turn    bool            // it may start
	again   bool            // it was placed before, and may have begun
	hurry   bool            // the node is to hear at once that it is settled
	kept    bool            // … and not that: its end stays with the engine
	leaving bool            // it is given away when its actor is gone
	flags   []messages.Flag // … of the session's own to its record
	early   []early         // what was asked of it before it was accepted
	left    chan struct{}   // closed when nobody waits for a look at it any more
	crashes crashes
	lone    *lone // supervised without an actor: its actors crashed too often
}

func newSession(d *Deps, o openSession) *session {
	return &session{
		deps: d, open: o.ask, held: o.held, bare: o.bare, tentative: o.tentative, machine: lifecycle.NewSession(1, 0),
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
			ctx.Send(ctx.Self(), gone{who: msg.Who}) // behind the child's last words
		}
	case gone:
		s.replace(ctx, msg.who)
	case place:
		s.place(ctx, msg)
	case routed:
		s.routed(ctx, msg)
	case news:
		s.heard(ctx, msg)
	case shellAt:
		s.moved(ctx, msg.dir)
	case messages.SessionReplaced:
		s.replaced(ctx, msg)
	case messages.SnapshotTried:
		s.tried(ctx, msg)
	case messages.ShellClosed:
		s.shellClosed(ctx, msg)
	case unsettled:
		s.unsettled(ctx, msg)
	case ended:
		s.retire(ctx, s.byPID[msg.who.Id])
	case loneFact:
		s.loneFact(ctx, msg)
	case looked:
		s.looked(ctx, msg)
	default:
		s.closingStep(ctx, msg)
	}
}

// place takes a job in: to its queue, or, if it exists, to stand around it.
func (s *session) place(ctx actor.Context, p place) {
	id, state := p.job.ID, p.job.State
	t := &ticket{place: p, turn: state == messages.Starting && !p.turn && !p.held}
	if isNew(p.job) && (p.terms.open != nil || s.tentative && s.unopened()) {
		s.reopen(ctx, p.terms.plan())
	}
	if s.failed != nil && (p.held || state != messages.Queued) {
		s.holdBare(ctx, t)
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
		case there.turn || there.place.job.State != messages.Queued:
		case state == messages.Starting: // its turn was lost on the way
			s.perform(ctx, s.machine.Step(lifecycle.TurnGiven{Job: id}))
		default:
			s.perform(ctx, s.machine.Step(lifecycle.Enqueued{Job: id}))
		}
		return
	}
	if isNew(p.job) {
		if err := s.misfits(p.run); err != nil {
			s.refuse(ctx, id, err)
			return
		}
	}
	p.job.Backend, p.job.Dir = s.open.Backend, s.where(p)
	if s.can.Keeps {
		p.job.EnvDropped = nil // nothing was left out: the shell has its own environment
	}
	p.job.Terminal = s.terminal(p.job.Terminal)
	if !s.can.Separate && p.job.State == messages.Queued { // whatever was asked for
		p.job.Output = []messages.StreamOutput{{Stream: messages.Merged}}
	}
	if p.turn && state == messages.Starting && !p.held { // it may have begun: then it does not wait behind others
		_, err := adopt(s.shell.Adopt, p.job.UID, func(messages.ProcessFact) {})
		p.held = err == nil
		t.place.held = p.held
	}
	if t.again = p.turn && state == messages.Starting && !p.held; t.again {
		p.job.State = messages.Queued // it begins as any other, if it can
	}
	if state == messages.Queued && s.closing == nil && (len(s.unseen) > 0 || !s.shell.Runnable(s.spec(t))) {
		s.returnTurn(ctx, t)
		if s.unseen = append(s.unseen, t); len(s.unseen) == 1 {
			s.look(ctx)
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
	event := any(lifecycle.Enqueued{Job: id, Turn: p.turn})
	switch {
	case p.job.State != messages.Queued:
		event = lifecycle.Taken{Job: id}
	case p.job.Seq > 0 || t.again:
		event = lifecycle.Moved{Job: id, Turn: p.turn}
	}
	todo := s.machine.Step(event)
	if len(todo) > 0 {
		if r, ok := todo[0].(lifecycle.RefuseJob); ok {
			s.refuse(ctx, id, &r.Err)
			t.refuseEarly(ctx, &r.Err)
			return
		}
	}
	s.comeUp(ctx)
	s.jobs[id], s.began, s.vain = t, true, false
	s.perform(ctx, todo)
	s.spawn(ctx, t) // with its turn, if it has one by now
	t.passEarly(ctx)
	if p.job.State == messages.Queued && s.machine.Waits(id) {
		s.heard(ctx, news{fact: messages.CommandQueued{}, job: p.job})
	}
	if p.job.State.Ended() {
		s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: id}))
	}
}

// returnTurn gives back the turn that a job came with: others may start before it.
func (s *session) returnTurn(ctx actor.Context, t *ticket) {
	if t.place.turn {
		t.place.turn = false
		ctx.Send(ctx.Parent(), turnReturned{job: t.place.job.ID})
	}
}

func (s *session) refuse(ctx actor.Context, id messages.JobID, err *messages.Error) {
	ctx.Send(ctx.Parent(), unplaced{job: id, err: *err})
}

// spawn puts an actor around a job. A job that was not heard to start is
// started again if it has its turn: the engine joins an id that it knows.
func (s *session) spawn(ctx actor.Context, t *ticket) {
	job := t.place.job
	adopt := t.place.held || begun(job.State)
	c := s.newCommand(t, adopt)
	t.pid = ctx.SpawnPrefix(s.deps.props(func() actor.Actor { return c }), kindCommand+string(job.ID))
	s.byPID[t.pid.Id] = t
	if adopt {
		s.takesUp(ctx, job)
	}
}

// takesUp notes that a job is adopted. That the journal has its end may have
// been told to the actor before: it is asked for again.
func (s *session) takesUp(ctx actor.Context, job *messages.Job) {
	s.adopted = clock()
	if job.State.Ended() {
		ctx.Send(ctx.Parent(), recordAsked{at: messages.Address{Job: job.ID, Scope: s.open.Scope, Session: s.open.Session}})
	}
}

func (s *session) newCommand(t *ticket, adopt bool) *command {
	c := &command{
		deps: s.deps, shell: s.shell, adopt: adopt, granted: t.turn && !adopt, named: t.place.terms.named,
		machine: lifecycle.Rebuild(t.place.job, limits(t.place)), memos: s.memos(t), noted: t.place.keep != nil && t.place.keep.noted,
	}
	if t.place.run != nil {
		spec := s.spec(t)
		c.spec = &spec
	}
	c.terminal = newTerminal(*t.place.job, t.answered(adopt))
	c.terminal.shownBy(t.place.terms, t.place.job.Background)
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
	if t.leaving {
		s.letGone(ctx, t)
		return
	}
	if t.crashes.add(clock()) {
		s.standAlone(ctx, t)
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
		case lifecycle.AskTurn:
			ctx.Send(ctx.Parent(), turnAsked{job: e.Job})
		case lifecycle.ReturnTurn:
			ctx.Send(ctx.Parent(), turnReturned{job: e.Job})
		case lifecycle.Begin:
			t := s.jobs[e.Job]
			t.turn = true
			dir := s.begins(t)
			if t.pid != nil && !t.leaving { // its next place begins it
				ctx.Send(t.pid, commandGranted{dir: dir})
			}
		}
	}
}

// heard keeps what is told of a job and passes the news up.
func (s *session) heard(ctx actor.Context, n news) {
	t, ok := s.jobs[n.job.ID]
	if !ok {
		return // it was handed over; its new place hears it again
	}
	n.job = t.flagged(n.job)
	ended := t.place.job.State.Ended()
	t.place.job = n.job
	if begun(n.job.State) {
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
	case t.leaving:
		dismiss(ctx, t.pid)
		return
	}
	delete(s.jobs, t.place.job.ID)
	if !t.kept {
		s.settled = append(s.settled, t.place.job.ID)
	}
	if len(s.settled) >= settledAtOnce || t.hurry || s.closing != nil {
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
		t.kept = true
	}
	ctx.Send(ctx.Parent(), m)
}

// settledAsked tells the node what is settled, and of this job as soon as it is.
func (s *session) settledAsked(ctx actor.Context, id messages.JobID) {
	if t := s.jobs[id]; t != nil {
		t.hurry = true
	}
	s.tellSettled(ctx)
}

// abandon lets go of the jobs without an actor, of the looks, and of its timer.
func (s *session) abandon(ctx actor.Context) {
	for _, t := range s.unseen {
		t.giveUpLook()
		t.refuseEarly(ctx, internalError())
	}
	for _, t := range s.jobs {
		if t.lone != nil {
			t.lone.abandon(ctx, internalError())
		}
	}
	if s.closing != nil && s.closing.look != nil {
		s.closing.look()
	}
}

// release lets go of the place; what it holds lives on with the engine.
func (s *session) release() {
	if s.shell != nil {
		s.shell.Release()
	}
}
