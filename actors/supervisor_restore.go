package actors

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// After a restart actors adopt the jobs that the engine has. Facts in the journal are not
// recorded again; the engine replays those that are missing. A job that the engine does not
// have and that is not over in the journal is ended here.

// restore rebuilds the tree of a former node, once, before any request.
func (s *supervisor) restore(ctx actor.Context) {
	past := s.deps.Past
	s.deps.Past = RestoreState{}
	var shells []inventoryShell
	past.Held, shells = apart(past.Held)
	s.count = max(s.count, int(past.Number)) //nolint:gosec // ids are counted, they do not overflow
	s.channels.remember(past.Channels)
	s.channels.origins = past.Origins
	s.shells.recentEnds = past.Ends
	held := map[messages.UID]*jobMeta{}
	for _, h := range past.Held {
		held[h.ID] = decodeJobMeta(h.Meta)
		if m := held[h.ID]; m != nil {
			s.count = max(s.count, idNumber(m.Job.ID))
		}
	}
	recorded, moved := map[messages.UID]bool{}, map[messages.UID]bool{}
	for _, r := range slices.Backward(past.Over) {
		m, has := held[r.Job.UID]
		s.restoreEntry(r, m, has)
		s.keepRecord(s.jobs[r.Job.ID])
		recorded[r.Job.UID] = true
	}
	for _, r := range past.Live {
		m, has := held[r.Job.UID]
		moved[r.Job.UID] = s.restoreEntry(r, m, has)
		recorded[r.Job.UID] = true
	}
	for _, h := range past.Held {
		if !recorded[h.ID] {
			s.restoreEntry(s.unrecordedJob(h), held[h.ID], true)
		}
	}
	s.waitForEnds(ctx, past.Held)
	s.rememberNotices()
	s.restoreTree(ctx, past.Held, held, recorded, shells)
	s.rememberUses(shells)
	s.restoreConditions()
	for _, e := range s.inTurn() {
		m := held[e.job.UID]
		switch {
		case e.inherited:
			s.restoreJob(ctx, e, m, moved[e.job.UID])
		case e.run != nil:
			s.restoreQueued(ctx, e)
		case !e.archived:
			s.endLostJob(ctx, e)
		}
	}
	s.startNotifiers(ctx)
	s.trim(ctx)
}

// unrecordedJob returns the record of a job that the journal does not have, from its metadata
// if there is any.
func (s *supervisor) unrecordedJob(h backends.InventoryJob) RestoredJob {
	m := decodeJobMeta(h.Meta)
	if m != nil && s.jobs[m.Job.ID] == nil {
		return RestoredJob{Job: m.job(h.ID), Key: m.Run.Key, Digest: m.Digest}
	}
	s.count++
	job := messages.Record{
		Scope: messages.MainScope, Session: messages.DefaultSession, Backend: DefaultBackend, Mode: messages.ModeAsync,
		State: messages.Starting, Created: clock(), Output: []messages.StreamOutput{{Stream: messages.Merged}},
	}
	if m != nil {
		job = m.job(h.ID)
	}
	job.ID, job.UID = s.jobID(s.count), h.ID
	return RestoredJob{Job: job}
}

// restoreEntry enters a job into the tables. Its metadata may be newer than the journal, since
// a command saves changes before it reports them. moved reports whether the job has another
// scope than in the journal.
func (s *supervisor) restoreEntry(r RestoredJob, m *jobMeta, held bool) (moved bool) {
	job := r.Job
	job.Scope, job.Session = cmp.Or(job.Scope, messages.MainScope), cmp.Or(job.Session, messages.DefaultSession)
	e := &jobEntry{inherited: held, metaSaved: held && m != nil, queriesAnswered: unknownAnswers}
	switch {
	case job.State == messages.Retired:
		e.archived, e.settled = true, !held
	case m == nil || job.State.Ended():
	default:
		e.leftRunning = m.Owed && !m.Job.Background && job.Background && m.Job.Mode == messages.ModeSync
		job.Deadline, job.Timeout = m.Job.Deadline, m.Job.Timeout
		m.keeps(&job)
		if m.Job.Terminal != (messages.Terminal{}) {
			job.Terminal, e.queriesAnswered = m.Job.Terminal, m.Answered
		}
		if moved = job.Seq > 0 && m.Job.Seq > job.Seq && m.Job.Scope != "" && m.Job.Scope != job.Scope; moved {
			job.Scope, job.Session = m.Job.Scope, m.Job.Session
		}
	}
	if held && job.State == messages.Queued {
		job.State = messages.Starting // it had a slot
	}
	if !held && job.State == messages.Queued && r.Run != nil {
		e.run, e.env = r.Run, r.Env
	}
	if m == nil {
		m = &jobMeta{Job: messages.Record{Mode: job.Mode, Background: job.Background || job.Started.IsZero()}}
	}
	e.job, e.seq = &job, job.Seq
	switch {
	case e.run != nil:
		e.terms = jobOptionsOf(e.run)
	case !e.settled:
		e.terms = m.terms(job)
	}
	if key := cmp.Or(r.Key, m.Run.Key); key != "" {
		e.asked = &keyedRequest{idempotencyKey{job.Principal, key}, cmp.Or(r.Digest, m.Digest)}
		s.byKey[e.asked.idempotencyKey] = job.ID
	}
	s.enter(e)
	return moved
}

// restoreTree opens the scopes and sessions of held jobs. Their opening is recorded if one of
// their jobs is.
func (s *supervisor) restoreTree(ctx actor.Context, all []backends.InventoryJob, memos map[messages.UID]*jobMeta, recorded map[messages.UID]bool, shells []inventoryShell) {
	asks := s.reopenShells(shells)
	for _, h := range all {
		e := s.byUID[h.ID]
		at := messages.Address{Scope: e.job.Scope, Session: e.job.Session}
		s.restoreScopes(at.Scope, memos[h.ID], recorded[h.ID])
		o := asks[at]
		if o == nil {
			o = &openSession{ask: messages.OpenSession{Scope: at.Scope, Session: at.Session, SessionPlan: messages.SessionPlan{Backend: e.job.Backend}}}
			asks[at] = o
		}
		if m := memos[h.ID]; m != nil && m.Job.Scope == at.Scope && m.Job.Session == at.Session {
			o.ask.SessionPlan = m.Place
		}
		h.Exited = e.job.State.Ended()
		if m := memos[h.ID]; m != nil {
			h.Keep = m.Run.OnExit == messages.KeepChildren
		}
		o.held = append(o.held, h)
		if recorded[h.ID] {
			s.sessionSpecs[at] = o.ask
			s.sessions[at] = messages.SessionInfo{Scope: at.Scope, Session: at.Session, Backend: o.ask.Backend, Dir: o.ask.Dir}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.scopeQuotas)) {
		s.send(ctx, messages.Address{Scope: path}, openScope{quota: s.scopeQuotas[path]}, nil)
	}
	for at, o := range asks {
		s.send(ctx, at, *o, nil)
	}
}

// restoreScopes enters the scopes above a job, with their former quotas.
func (s *supervisor) restoreScopes(path messages.ScopePath, m *jobMeta, recorded bool) {
	above := waysTo(path)
	for i, p := range above {
		quota := s.scopeQuotas[p]
		if m != nil && m.Job.Scope == path && i < len(m.Quotas) {
			quota = m.Quotas[i]
		}
		s.scopeQuotas[p] = quota
		s.scopesOpened[p] = s.scopesOpened[p] || recorded
	}
}

// waysTo returns the scopes from the top down to path.
func waysTo(path messages.ScopePath) []messages.ScopePath {
	var all []messages.ScopePath
	for ; path != ""; path = path.Parent() {
		all = append(all, path)
	}
	slices.Reverse(all)
	return all
}

// recoveryMeta returns what the engine stores with a job; nil: it keeps no jobs.
func (s *supervisor) recoveryMeta(e *jobEntry) *recoveryMeta {
	if s.deps.Engine == nil || !s.deps.Engine.CanKeep() {
		return nil
	}
	k := &recoveryMeta{noted: e.metaSaved, owed: e.clientWaiting || e.leftRunning, left: e.leftRunning, budget: e.budget, quotas: s.quotas(e.job.Scope)}
	if e.asked != nil {
		k.key, k.digest = e.asked.key, e.asked.digest
	}
	return k
}

// quotas returns the quotas of the scopes down to path; nil: none is set.
func (s *supervisor) quotas(path messages.ScopePath) []messages.ScopeQuota {
	var all []messages.ScopeQuota
	bound := false
	for _, p := range waysTo(path) {
		q := s.scopeQuotas[p]
		bound = bound || q != messages.ScopeQuota{}
		all = append(all, q)
	}
	if !bound {
		return nil
	}
	return all
}

// restoreJob restores a job that the engine has. A foreground job belonged to a connection: it is
// stopped if its client does not join it in time. A promoted job stays. So does one with an
// attached terminal, since its user will attach again.
func (s *supervisor) restoreJob(ctx actor.Context, e *jobEntry, m *jobMeta, moved bool) {
	ends := m != nil && m.Owed && !m.Job.Background && !e.job.Background && m.Job.Mode == messages.ModeSync
	if ends && !e.job.State.Ended() {
		e.clientWaiting, e.budget = true, e.terms.promoteAfter
		e.terms.promoteAfter = 0 // it may be spent, and a job that is stopped in the end must not be promoted
	}
	stays := ends && m.Run.Shown && !e.job.State.Ended()
	if e.leftRunning = e.leftRunning || stays; e.leftRunning {
		e.budget = cmp.Or(e.budget, e.terms.promoteAfter)
	}
	e.edit(func(job *messages.Record) { job.Background = job.Background || stays })
	s.place(ctx, e)
	if e.job.State.Ended() || e.endPending { // its end is or will be reported
		return
	}
	if stays {
		s.record(ctx, e, messages.CommandPromoted{})
		return
	}
	if moved {
		s.record(ctx, e, messages.CommandChanged{})
	}
	if ends {
		s.awaitClient(ctx, e)
	}
}

// endLostJob ends a job that the engine does not have.
func (s *supervisor) endLostJob(ctx actor.Context, e *jobEntry) {
	job := *e.job
	switch {
	case job.State.Ended(): // only its last fact is missing
	case job.State == messages.Starting:
		job.End.Outcome, job.End.Err = messages.Lost, messages.Error{
			Code: messages.NotFound, Reason: "engine", Message: "troupe ended while the job was about to start, and no keeper has it; whether it has run is not known, so it is not started again",
			Hint: "look at what it would have done, and run it again if it has not",
		}
	case job.Started.IsZero() && job.State == messages.Stopping: // it was stopped while it started
		job.End.Outcome = job.End.Cause.OutcomeOf()
	case job.Started.IsZero():
		job.End.Outcome, job.End.Err = messages.FailedToStart, messages.Error{
			Code: messages.ShuttingDown, Reason: "restart", Message: "troupe ended before the job could start; nothing of it has run", Hint: "run it again",
		}
	default:
		job.Flags = append(slices.Clip(job.Flags), messages.FlagOutputLost)
		job.End.Outcome, job.End.Err = messages.Lost, messages.Error{
			Code: messages.NotFound, Reason: "engine", Message: "the job has ended while no node watched it; how it ended is not known",
			Hint: "look at its output, and run it again if it did not do its work",
		}
	}
	s.endWithoutActor(ctx, e, job)
}

// endWithoutActor ends a job that gets no actor.
func (s *supervisor) endWithoutActor(ctx actor.Context, e *jobEntry, job messages.Record) {
	job.WaitingForInput, job.WaitingForSecret, job.OutputOpen, job.End.Children = false, false, false, 0
	if !job.State.Ended() {
		job.State, job.End.At, job.Deadline = messages.Finished, clock(), time.Time{}
		end := job
		s.applyFact(ctx, messages.CommandFinished{}, &end)
	}
	job.State = messages.Retired
	s.applyFact(ctx, messages.CommandRetired{}, &job)
	s.settled(ctx, e.job.ID)
}

// idNumber returns the number in a short id, 0 if it has none.
func idNumber(id messages.JobID) int {
	n, unit := int64(0), int64(1)
	for i := len(id) - 1; i >= 0 && id[i] >= '0' && id[i] <= '9' && unit < 1e15; i-- {
		n += int64(id[i]-'0') * unit
		unit *= 10
	}
	return int(n)
}
