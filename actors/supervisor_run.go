package actors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// mayName refuses a name that is, or will be, the id of another job: that would be meant,
// and once it is forgotten whoever has the id would mean this one.
func (s *supervisor) mayName(name string) *messages.Error {
	number, has := strings.CutPrefix(name, s.deps.prefix())
	if !has || number == "" || strings.Trim(number, "0123456789") != "" {
		return nil
	}
	return &messages.Error{
		Code: messages.InvalidParams, Reason: "name", Message: fmt.Sprintf("%q cannot name a job: it has the form of an id", name), Hint: "use another name",
	}
}

// run admits a request and places its job, or answers why not.
func (s *supervisor) run(ctx actor.Context, r messages.RunCommand) {
	if err := s.mayRun(); err != nil {
		refuse(ctx, r, err)
		return
	}
	if err := cmp.Or(r.Check(), s.mayName(r.Name)); err != nil {
		refuse(ctx, r, err)
		return
	}
	r.Scope, r.Session = cmp.Or(r.Scope, messages.MainScope), cmp.Or(r.Session, messages.DefaultSession)
	r.Background = r.Background || r.Detach // nobody waits for what outlives all who could
	if r.Key != "" && s.again(ctx, r) {
		return
	}
	if err := s.isClosing(r.Address()); err != nil {
		refuse(ctx, r, err)
		return
	}
	if err := s.mayNotify(r); err != nil {
		refuse(ctx, r, err)
		return
	}
	shell := r.Open != nil && s.wantsShell(r.Address(), *r.Open, true)
	if shell {
		if err := s.room(); err != nil {
			refuse(ctx, r, err)
			return
		}
	}
	e, err := s.admit(r)
	if err != nil {
		refuse(ctx, r, err)
		return
	}
	if shell {
		s.opensShell(r.Address())
	}
	if ctx.Sender() != nil {
		e.debts = []*actor.PID{ctx.Sender()}
		e.owed = !r.Background
	}
	e.offered = s.admission.Offer(e.job.ID)
	e.turn = e.offered
	s.place(ctx, e)
}

func (s *supervisor) mayRun() *messages.Error {
	switch {
	case s.phase > open:
		return shuttingDown()
	case s.broken != nil:
		return s.broken
	}
	return nil
}

func shuttingDown() *messages.Error {
	return &messages.Error{Code: messages.ShuttingDown, Message: "the node is shutting down", Hint: "ask the next one"}
}

// withdraw forgets what one caller of a run is owed. A job that nobody waits for
// any more is stopped, unless it goes on in the background.
func (s *supervisor) withdraw(ctx actor.Context, r messages.AbandonRun) {
	e := s.byUID[r.UID]
	if r.Key != "" { // which may name another's job
		e = s.jobs[s.byKey[idempotency{r.Principal, r.Key}]]
	}
	if e == nil || ctx.Sender() == nil {
		return
	}
	owed := len(e.debts)
	e.debts = slices.DeleteFunc(e.debts, ctx.Sender().Equal)
	if len(e.debts) == owed || len(e.debts) > 0 {
		return // it has had its reply, or others wait for theirs
	}
	s.stopUnheard(ctx, messages.StopCommand{Job: e.job.ID, Reason: "its caller gave up", Gone: true})
}

// admit makes the record of a job that may wait for its start.
func (s *supervisor) admit(r messages.RunCommand) (*entry, *messages.Error) {
	id := s.jobID(s.count + 1)
	if err := s.admission.Admit(id, r.Scope); err != nil {
		return nil, err
	}
	uid := r.UID
	if _, used := s.byUID[uid]; used {
		s.admission.Done(id)
		return nil, &messages.Error{Code: messages.Conflict, Reason: "uid", Message: "there is a job of that ULID already", Hint: "leave it out and one is made"}
	}
	if uid == "" {
		uid = s.deps.NewUID()
	}
	env, dropped, err := s.deps.Environment(r, Self{Scope: r.Scope, Session: r.Session, Job: id, UID: uid})
	if err != nil {
		s.admission.Done(id)
		return nil, err
	}
	s.count++
	job := newJob(r, id, uid)
	job.EnvDropped = dropped
	e := &entry{env: env, job: &job}
	if r.Key != "" {
		e.asked = &asked{idempotency{r.Principal, r.Key}, digest(r)}
		s.byKey[e.asked.idempotency] = id
	}
	r.BaseEnv = nil // it is in env
	e.run, e.terms = &r, termsOf(&r)
	s.jobs[id], s.byUID[uid] = e, e
	s.expect(e)
	return e, nil
}

func (s *supervisor) jobID(n int) messages.JobID {
	return messages.JobID(fmt.Sprintf("%s%d", s.deps.prefix(), n))
}

func newJob(r messages.RunCommand, id messages.JobID, uid messages.UID) messages.Job {
	job := messages.Job{
		ID: id, UID: uid, Scope: r.Scope, Session: r.Session, Principal: r.Principal, Tag: r.Tag,
		Name: r.Name, Description: r.Description, Command: r.Text, Argv: r.Argv,
		Mode: messages.ModeSync, Backend: DefaultBackend, State: messages.Queued,
		Terminal: r.Terminal, Timeout: r.Timeout, Created: clock(), OnFinish: messages.Notices(r.OnFinish), Output: []messages.StreamOutput{{Stream: messages.Merged}},
	}
	if len(r.Argv) > 0 {
		job.Command = strings.Join(r.Argv, " ")
	}
	if r.Background {
		job.Mode = messages.ModeAsync
	}
	if r.Detach {
		job.Mode = messages.ModeDetached
	}
	if r.Streams == messages.SeparateStreams && r.Terminal == (messages.Terminal{}) {
		job.Output = []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}
	}
	return job
}

// place sends a job to its session, which is made if it is not open.
func (s *supervisor) place(ctx actor.Context, e *entry) {
	job := e.record()
	s.send(ctx, s.home(e), place{
		job: &job, run: e.run, env: e.env, terms: e.terms, turn: e.offered, held: e.held,
		keep: s.keepsake(e), answered: e.answered,
	}, nil)
	e.answered = unknownAnswers // who is put around it again was not told of it
}

// home is the address of a job.
func (s *supervisor) home(e *entry) messages.Address {
	return messages.Address{Job: e.job.ID, Scope: e.job.Scope, Session: e.job.Session}
}

// unplaced answers those who asked for a job that its session does not take.
func (s *supervisor) unplaced(ctx actor.Context, m unplaced) {
	e, ok := s.jobs[m.job]
	if !ok {
		return
	}
	if e.job.State != messages.Queued || !e.job.Started.IsZero() {
		return // it exists: it is only refused a place it was moved to
	}
	if e.seq > 0 {
		s.stillborn(ctx, e, m.err)
		return
	}
	s.drop(e)
	s.unexpect(ctx, e)
	s.endMove(ctx, m.job, &m.err)
	s.refuseWaits(ctx, m)
	s.pay(e, messages.CommandRejected{Err: m.err})
	s.give(ctx, s.admission.Done(m.job))
}

// stillborn ends a job that was told of and cannot be placed anew.
func (s *supervisor) stillborn(ctx actor.Context, e *entry, err messages.Error) {
	job := *e.job
	job.Outcome, job.Err, job.Shell = messages.FailedToStart, err, cannotRun
	s.endHere(ctx, e, job)
}

// cannotRun is a shell's status for a program that is there and cannot run.
const cannotRun = 126

// drop removes a job from the tables.
func (s *supervisor) drop(e *entry) {
	delete(s.jobs, e.job.ID)
	delete(s.byUID, e.job.UID)
	if e.asked != nil && s.byKey[e.asked.idempotency] == e.job.ID { // a node that begins again may find two under one key
		delete(s.byKey, e.asked.idempotency)
	}
}

func (s *supervisor) turnAsked(ctx actor.Context, id messages.JobID) {
	granted := s.admission.Ask(id)
	if e, ok := s.jobs[id]; ok && !slices.Contains(granted, id) {
		if e.seq == 0 {
			s.record(ctx, e, messages.CommandQueued{})
		}
		s.neverStarts(ctx, e)
	}
	s.give(ctx, granted)
}

// turnReturned takes a turn back that came to a session too late or too early. A
// job that still waits may ask again.
func (s *supervisor) turnReturned(ctx actor.Context, id messages.JobID) {
	granted := s.admission.Done(id)
	if e, ok := s.jobs[id]; ok && (e.job.State == messages.Queued || e.job.State == messages.Starting && e.offered) {
		e.change(func(job *messages.Job) { job.State = messages.Queued }) // it was to begin, and cannot yet
		e.turn, e.offered = false, false
		s.admission.Again(id, e.job.Scope)
		s.neverStarts(ctx, e)
	}
	s.give(ctx, granted)
}

// give tells jobs that they may start.
func (s *supervisor) give(ctx actor.Context, granted []messages.JobID) {
	for _, id := range granted {
		e, ok := s.jobs[id]
		if !ok {
			s.give(ctx, s.admission.Done(id))
			continue
		}
		e.turn = true
		s.send(ctx, s.home(e), turnGiven{job: id}, nil)
	}
}

// news hears of a job. Its end and its last word are recorded at one go, and told
// in one.
func (s *supervisor) news(ctx actor.Context, n news) {
	if n.last {
		end := *n.job
		end.State = messages.Finished
		s.heard(ctx, n.fact, &end)
		s.heard(ctx, messages.CommandRetired{}, n.job)
		return
	}
	s.heard(ctx, n.fact, n.job)
}

// heard takes a fact about a job with the record as it stands: into the table, to
// the journal, to those who wait for it.
func (s *supervisor) heard(ctx actor.Context, fact messages.CommandFact, job *messages.Job) {
	e, ok := s.jobs[job.ID]
	if !ok || e.over || e.job.State == messages.Retired {
		return
	}
	if _, waits := fact.(messages.CommandQueued); waits && e.seq > 0 {
		return // it is told once, however often the job is placed
	}
	e.take(job)
	if _, ends := fact.(messages.CommandFinished); ends && len(e.job.OnFinish) > 0 {
		e.change(func(job *messages.Job) { job.OnFinish = s.numbered(job.OnFinish) })
	}
	if begun(e.job.State) {
		e.run, e.env = nil, nil
	}
	s.heardOf(job.ID)
	fact = s.record(ctx, e, fact)
	s.shellUsed(ctx, fact, e.job)
	switch fact.(type) {
	case messages.CommandStarted:
		s.give(ctx, s.admission.Done(job.ID))
	case messages.CommandPromoted:
		s.pay(e, fact)
	case messages.CommandFinished:
		s.pay(e, fact)
		s.give(ctx, s.admission.Done(job.ID))
		s.notify(ctx, e)
	case messages.CommandRetired:
		e.retired = clock()
		s.confirmSoon(ctx, recordPatience)
	}
	s.tellWatches(ctx, e)
	s.endUnrecorded(ctx, e)
	s.endHeard(ctx, e)
}

// pay gives the clients of a run the one reply they are owed: at the end of the turn,
// behind what it tells the subscribers. A client that was told has work at once, and
// might take the processor that the notices wait for; one that hears the end both ways
// is woken once.
func (s *supervisor) pay(e *entry, reply any) {
	for _, client := range e.debts {
		s.owed = append(s.owed, payment{client, reply})
	}
	e.debts = nil
}

// payment is a reply that goes out at the end of the turn.
type payment struct {
	client *actor.PID
	reply  any
}

func (s *supervisor) payNow(ctx actor.Context) {
	for i, p := range s.owed {
		ctx.Send(p.client, p.reply)
		s.owed[i] = payment{}
	}
	if s.owed = s.owed[:0]; cap(s.owed) > maxCommit {
		s.owed = nil
	}
}
