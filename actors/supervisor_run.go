package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// checkName refuses a name that has the form of an id, since it would be ambiguous.
func (s *supervisor) checkName(name string) *messages.Error {
	number, has := strings.CutPrefix(name, s.deps.prefix())
	if !has || number == "" || strings.Trim(number, "0123456789") != "" {
		return nil
	}
	return &messages.Error{
		Code: messages.InvalidParams, Reason: "name", Message: fmt.Sprintf("%q cannot name a job: it has the form of an id", name), Hint: "use another name",
	}
}

// run admits a request and places its job, or answers why not.
func (s *supervisor) run(ctx actor.Context, r messages.RunCommand, client *actor.PID) {
	if s.phase > open {
		refuseTo(ctx, client, r, shuttingDown())
		return
	}
	if err := cmp.Or(r.Check(), s.checkName(r.Name)); err != nil {
		refuseTo(ctx, client, r, err)
		return
	}
	if r.RerunOf == "" {
		r.Scope, r.Session = cmp.Or(r.Scope, messages.MainScope), cmp.Or(r.Session, messages.DefaultSession)
	}
	if r.Key != "" && s.joinByKey(ctx, r, client) || s.joinByUID(ctx, r, client) {
		return // also while the journal fails: the job has its place, and starts when that can be written
	}
	asked := r
	r, err := s.rerunRequest(r)
	if err = cmp.Or(err, s.journalErr); err == nil {
		err = cmp.Or(s.isClosing(r.Address()), s.checkNotices(r))
	}
	if err == nil {
		err = s.checkConditions(&r)
	}
	shell := r.Open != nil && s.needsShell(r.Address(), *r.Open, true)
	if err == nil && shell {
		err = s.checkShellLimit()
	}
	if err != nil {
		refuseTo(ctx, client, r, err)
		return
	}
	e, err := s.admit(r, asked)
	switch {
	case err != nil && r.Replace && errors.Is(err, nameConflict):
		s.replaceJobs(ctx, r, asked, client)
		return
	case err != nil:
		refuseTo(ctx, client, r, err)
		return
	}
	if shell {
		s.opensShell(r.Address())
	}
	if client != nil {
		e.replyTo = []*actor.PID{client}
		e.clientWaiting = !r.Mode.Background()
	}
	others := s.awaitConditions(e)
	if waits, _ := s.conditions.Waits(e.job.ID); !waits {
		e.slotOffered = s.admission.TryAcquire(e.job.ID)
		e.slotGranted = e.slotOffered
	}
	s.place(ctx, e)
	s.conditionsMet(ctx, others)
}

func shuttingDown() *messages.Error {
	return &messages.Error{Code: messages.ShuttingDown, Message: "the node is shutting down", Hint: "ask the next one"}
}

// withdraw removes a client of a run. A foreground job without clients is stopped.
func (s *supervisor) withdraw(ctx actor.Context, r messages.AbandonRun) {
	if s.withdrawReplacement(ctx) {
		return
	}
	e := s.byUID[r.UID]
	if r.Key != "" { // the key may have joined another run
		e = s.jobs[s.byKey[idempotencyKey{r.Principal, r.Key}]]
	}
	if e == nil || ctx.Sender() == nil {
		return
	}
	owed := len(e.replyTo)
	e.replyTo = slices.DeleteFunc(e.replyTo, ctx.Sender().Equal)
	if len(e.replyTo) == owed || len(e.replyTo) > 0 || e.terms.background {
		return // the client has had its reply, others wait, or the job was to outlive its clients
	}
	s.stopWithRetry(ctx, messages.StopCommand{Job: e.job.ID, Reason: "its caller gave up", Gone: true})
}

// admit creates the entry and the record of an admitted job. asked is the request as its client
// sent it, by which a repeat is recognised.
func (s *supervisor) admit(r, asked messages.RunCommand) (*jobEntry, *messages.Error) {
	id := s.jobID(s.count + 1)
	if err := s.admission.Admit(id, r.Scope); err != nil {
		return nil, err
	}
	uid := r.UID
	if _, used := s.byUID[uid]; used {
		s.admission.Release(id)
		return nil, &messages.Error{Code: messages.Conflict, Reason: "uid", Message: "a job with this ULID exists already", Hint: "leave the ULID out: the node makes one"}
	}
	if uid == "" {
		uid = s.deps.NewUID()
	}
	env, dropped, err := s.deps.Environment(r, JobEnv{Scope: r.Scope, Session: r.Session, Job: id, UID: uid})
	if err != nil {
		s.admission.Release(id)
		return nil, err
	}
	if by := s.holders(r.Scope, r.Name); len(by) > 0 { // last: a replacement must stop no job for a request that is refused
		s.admission.Release(id)
		return nil, nameTaken(r.Name, by, takenHint(r))
	}
	s.count++
	job := newJob(r, id, uid)
	job.Flags = s.deps.Flags
	job.EnvDropped = dropped
	e := &jobEntry{env: env, job: &job}
	if r.Key != "" {
		e.asked = &keyedRequest{idempotencyKey{r.Principal, r.Key}, digest(asked)}
		s.byKey[e.asked.idempotencyKey] = id
	}
	r.Env.Base = nil // it is in env
	e.run, e.terms = &r, jobOptionsOf(&r)
	s.enter(e)
	s.addNotices(e)
	return e, nil
}

func (s *supervisor) jobID(n int) messages.JobID {
	return messages.JobID(fmt.Sprintf("%s%d", s.deps.prefix(), n))
}

func newJob(r messages.RunCommand, id messages.JobID, uid messages.UID) messages.Record {
	job := messages.Record{
		ID: id, UID: uid, Scope: r.Scope, Session: r.Session, Labels: messages.Labels{Principal: r.Principal, Tag: r.Tag, Name: r.Name, Description: r.Description}, Command: r.Text, Argv: r.Argv,
		Mode: cmp.Or(r.Mode, messages.ModeSync), Backend: DefaultBackend, State: messages.Queued,
		Terminal: r.Terminal, Timeout: r.Timeout, Created: clock(), OnFinish: messages.Notices(r.OnFinish), Output: []messages.StreamOutput{{Stream: messages.Merged}},
		StopSignal: r.StopSignal, Request: r.Terms(),
	}
	if len(r.Argv) > 0 {
		job.Command = strings.Join(r.Argv, " ")
	}
	if r.Streams == messages.SeparateStreams && r.Terminal == (messages.Terminal{}) {
		job.Output = []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}
	}
	return job
}

// place sends a job to its session. A missing session is opened.
func (s *supervisor) place(ctx actor.Context, e *jobEntry) {
	job := e.record()
	held, never := s.conditions.Waits(job.ID)
	if never != nil {
		defer s.send(ctx, s.jobAddress(e), neverStarts{err: *never}, nil)
	}
	s.send(ctx, s.jobAddress(e), placement{
		job: &job, run: e.run, env: e.env, options: e.terms, slotGranted: e.slotOffered, held: held, inherited: e.inherited,
		recovery: s.recoveryMeta(e), answered: e.queriesAnswered,
	}, nil)
	e.queriesAnswered = unknownAnswers // later answers of the actor are not known here
}

// jobAddress returns the address of a job.
func (s *supervisor) jobAddress(e *jobEntry) messages.Address {
	return messages.Address{Job: e.job.ID, Scope: e.job.Scope, Session: e.job.Session}
}

// unplaced refuses the clients of a job that the tree has refused.
func (s *supervisor) unplaced(ctx actor.Context, m placeRejected) {
	e, ok := s.jobs[m.job]
	if !ok {
		return
	}
	if e.job.State != messages.Queued || !e.job.Started.IsZero() {
		return // it exists: only its hand-over is refused
	}
	if e.seq > 0 {
		s.failUnplaced(ctx, e, m.err)
		return
	}
	s.drop(e)
	s.dropNotices(ctx, e)
	s.conditionsOver(ctx, messages.Record{ID: e.job.ID, UID: e.job.UID, End: messages.End{Outcome: messages.FailedToStart}})
	s.endHandover(ctx, m.job, &m.err)
	s.refuseWaits(ctx, m)
	s.queueReplies(e, messages.CommandRejected{Err: m.err})
	s.grantSlots(ctx, s.admission.Release(m.job))
}

// failUnplaced ends a reported job that cannot be placed again.
func (s *supervisor) failUnplaced(ctx actor.Context, e *jobEntry, err messages.Error) {
	job := *e.job
	job.End.Outcome, job.End.Err = messages.FailedToStart, err
	s.endWithoutActor(ctx, e, job)
}

// cannotRun is the shell's status for a program that exists and cannot run.
const cannotRun = 126

// enter adds a job to the tables.
func (s *supervisor) enter(e *jobEntry) {
	s.jobs[e.job.ID], s.byUID[e.job.UID] = e, e
	if name := e.job.Name; name != "" {
		s.byName[name] = append(s.byName[name], e)
	}
}

// drop removes a job from the tables.
func (s *supervisor) drop(e *jobEntry) {
	delete(s.jobs, e.job.ID)
	delete(s.byUID, e.job.UID)
	if name := e.job.Name; name != "" {
		s.byName[name] = slices.DeleteFunc(s.byName[name], func(other *jobEntry) bool { return other == e })
		if len(s.byName[name]) == 0 {
			delete(s.byName, name)
		}
	}
	if e.asked != nil && s.byKey[e.asked.idempotencyKey] == e.job.ID { // a restart may find two jobs under one key
		delete(s.byKey, e.asked.idempotencyKey)
	}
}

func (s *supervisor) turnAsked(ctx actor.Context, id messages.JobID) {
	granted := s.admission.Request(id)
	if e, ok := s.jobs[id]; ok && !slices.Contains(granted, id) {
		if e.seq == 0 {
			s.record(ctx, e, messages.CommandQueued{})
		}
		s.neverStarts(ctx, e)
	}
	s.grantSlots(ctx, granted)
}

// turnReturned takes back a slot that a session cannot use. A job that still waits may ask
// again.
func (s *supervisor) turnReturned(ctx actor.Context, id messages.JobID) {
	granted := s.admission.Release(id)
	if e, ok := s.jobs[id]; ok && (e.job.State == messages.Queued || e.job.State == messages.Starting && e.slotOffered) {
		e.edit(func(job *messages.Record) { job.State = messages.Queued }) // it cannot start yet
		e.slotGranted, e.slotOffered = false, false
		s.admission.Readmit(id, e.job.Scope)
		s.queuedAgain(ctx, e)
		s.neverStarts(ctx, e)
	}
	s.grantSlots(ctx, granted)
}

// grantSlots lets jobs start. After the release of the jobs none may.
func (s *supervisor) grantSlots(ctx actor.Context, granted []messages.JobID) {
	if s.jobsReleased() {
		return
	}
	for _, id := range granted {
		e, ok := s.jobs[id]
		if !ok {
			s.grantSlots(ctx, s.admission.Release(id))
			continue
		}
		e.slotGranted = true
		if !s.noteStart(ctx, e) {
			s.send(ctx, s.jobAddress(e), slotGranted{job: id}, nil)
		}
	}
}

// applyUpdate takes an update of a job: one fact, or its end and last fact together.
func (s *supervisor) applyUpdate(ctx actor.Context, n jobUpdate) {
	if n.last {
		end := *n.job
		end.State = messages.Finished
		s.applyFact(ctx, n.fact, &end)
		s.applyFact(ctx, messages.CommandRetired{}, n.job)
		return
	}
	s.applyFact(ctx, n.fact, n.job)
}

// applyFact puts a fact and its record into the table and the journal, and answers waiting
// clients.
func (s *supervisor) applyFact(ctx actor.Context, fact messages.CommandFact, job *messages.Record) {
	e, ok := s.jobs[job.ID]
	if !ok || e.archived || e.job.State == messages.Retired {
		return
	}
	if _, waits := fact.(messages.CommandQueued); waits {
		if e.inQueue = true; e.seq > 0 { // it is recorded once, however often the job is placed
			s.replyQueued(e)
			return
		}
	}
	e.merge(job)
	if _, ends := fact.(messages.CommandFinished); ends && len(e.job.OnFinish) > 0 {
		e.edit(func(job *messages.Record) { job.OnFinish = s.numbered(job.OnFinish) })
	}
	if hasStarted(e.job.State) {
		e.run, e.env = nil, nil
	}
	s.clearStopRetry(job.ID)
	fact = s.record(ctx, e, fact)
	s.shellUsed(ctx, fact, e.job)
	switch fact.(type) {
	case messages.CommandStarted:
		s.grantSlots(ctx, s.admission.Release(job.ID))
	case messages.CommandQueued:
		s.replyQueued(e)
	case messages.CommandPromoted:
		s.queueReplies(e, fact)
	case messages.CommandFinished:
		if !e.endUntold() {
			s.queueReplies(e, fact)
		}
		s.grantSlots(ctx, s.admission.Release(job.ID))
		s.conditionsOver(ctx, *e.job)
		s.notify(ctx, e)
	case messages.CommandRetired:
		e.retired = clock().UnixNano()
		s.confirmSoon(ctx, recordPatience)
	}
	s.updateWaiters(ctx, e)
	s.endUnrecorded(ctx, e)
	s.endReceived(ctx, e)
}

// queueReplies queues the reply for the clients of a run. It is sent after the facts for the
// subscribers: a client that is also a subscriber wakes once, and others do not delay the
// subscribers.
func (s *supervisor) queueReplies(e *jobEntry, reply any) {
	for _, client := range e.replyTo {
		s.deferredReplies = append(s.deferredReplies, deferredReply{client, reply})
	}
	e.replyTo = nil
}

// replyQueued answers the clients of a background job in the queue of its session, since its
// start can be hours away. If the job outlives the node, its request is recorded first.
func (s *supervisor) replyQueued(e *jobEntry) {
	if e.inQueue && e.waits() && e.terms.background && (e.seq <= s.newest() || !s.endsPersist()) {
		s.queueReplies(e, messages.CommandPromoted{Job: e.record()})
	}
}

// deferredReply is a reply that is sent after the message in hand.
type deferredReply struct {
	client *actor.PID
	reply  any
}

func (s *supervisor) flushReplies(ctx actor.Context) {
	for i, p := range s.deferredReplies {
		ctx.Send(p.client, p.reply)
		s.deferredReplies[i] = deferredReply{}
	}
	if s.deferredReplies = s.deferredReplies[:0]; cap(s.deferredReplies) > maxCommit {
		s.deferredReplies = nil
	}
}
