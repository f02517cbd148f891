package actors

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
	"troupe/spill"
)

// list answers from the tables.
func (s *supervisor) list(ctx actor.Context, request any) {
	if ctx.Sender() == nil {
		return
	}
	switch r := request.(type) {
	case messages.FindJob:
		s.findJob(ctx, r)
	case messages.ListJobs:
		ctx.Respond(s.jobList(r))
	case messages.RemoveJob:
		s.removeJob(ctx, r)
	case messages.ReportFault:
		s.reportFault(ctx, r)
	case messages.AnnounceTask:
		s.task(ctx, r)
	case messages.UpdateTask:
		s.task(ctx, r)
	case messages.ListSessions:
		ctx.Respond(s.listSessions(r))
	case messages.ListScopes:
		ctx.Respond(messages.ScopeList{Scopes: s.scopeList(r.Path)})
	}
}

func (s *supervisor) findJob(ctx actor.Context, r messages.FindJob) {
	e, err := s.find(r.Job)
	switch {
	case err == nil:
		ctx.Respond(messages.JobFound{Job: s.withWaits(e.record(), s.conditions.Order())})
	case !s.awaitReplacement(ctx, r):
		s.refuseUnfound(ctx, r, r.Job, err)
	}
}

// reportFault adds a fault of a plan to the record of its job.
func (s *supervisor) reportFault(ctx actor.Context, r messages.ReportFault) {
	e, err := s.find(r.Job)
	if err != nil {
		s.refuseUnfound(ctx, r, r.Job, err)
		return
	}
	if len(e.job.Faults) < messages.MaxFaults {
		e.edit(func(job *messages.Record) { job.Faults = append(slices.Clip(job.Faults), r.Fault) })
	}
	s.record(ctx, e, messages.CommandChanged{})
	ctx.Respond(messages.Acknowledged{})
}

// refuseUnfound answers a request for a job that was not found.
func (s *supervisor) refuseUnfound(ctx actor.Context, r messages.Refusable, id messages.JobID, err *messages.Error) {
	if err.Code == messages.NotFound {
		ctx.Respond(s.missing(id))
		return
	}
	refuse(ctx, r, err)
}

// missing returns the answer for an unknown job. It tells removed jobs from those that never
// existed.
func (s *supervisor) missing(id messages.JobID) messages.JobMissing {
	number, named := strings.CutPrefix(string(id), s.deps.prefix())
	if n, err := strconv.Atoi(number); named && err == nil && n > 0 && n <= s.count {
		return messages.JobMissing{Category: "removed", Err: *messages.NoSuchJob(id)}
	}
	return messages.JobMissing{Category: "unknown", Err: *messages.NoSuchJob(id)}
}

// sorted returns the jobs in the order of their requests.
func (s *supervisor) sorted() []*jobEntry {
	return slices.SortedFunc(maps.Values(s.jobs), func(a, b *jobEntry) int {
		return cmp.Compare(a.job.UID, b.job.UID)
	})
}

// inTurn returns the jobs in the order in which they are placed again: started jobs, jobs with
// a slot, queued jobs, each by number. A new session takes the first that it gets.
func (s *supervisor) inTurn() []*jobEntry {
	rank := func(e *jobEntry) int {
		switch {
		case hasStarted(e.job.State):
			return 0
		case e.waits():
			return 2
		}
		return 1
	}
	return slices.SortedFunc(maps.Values(s.jobs), func(a, b *jobEntry) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(idNumber(a.job.ID), idNumber(b.job.ID)))
	})
}

func (s *supervisor) jobList(r messages.ListJobs) messages.JobList {
	var out messages.JobList
	order := s.conditions.Order()
	for _, e := range s.sorted() {
		j := e.job
		switch {
		case r.Scope != "" && !r.Scope.Contains(j.Scope),
			string(j.UID) <= r.Cursor,
			!r.Finished && len(r.States) == 0 && j.State.Ended(),
			len(r.States) > 0 && !slices.Contains(r.States, j.State) && !(j.State == messages.Retired && slices.Contains(r.States, messages.Finished)):
			continue
		}
		if n := len(out.Jobs); r.Limit > 0 && n == r.Limit {
			out.Next = string(out.Jobs[n-1].UID)
			break
		}
		out.Jobs = append(out.Jobs, s.withWaits(e.record(), order))
	}
	if r.Cursor != "" || len(r.States) > 0 { // a task has no state of a job
		return out
	}
	out.Tasks = s.tasks.list(r.Scope, r.Finished)
	return out
}

func (s *supervisor) removeJob(ctx actor.Context, r messages.RemoveJob) {
	e, err := s.find(r.Job)
	switch {
	case err != nil:
		s.refuseUnfound(ctx, r, r.Job, err)
	case !e.archived && e.job.State == messages.Retired && s.journalErr == nil && len(s.pendingRemovals) < maxEarly:
		s.pendingRemovals = append(s.pendingRemovals, removal{e.job.ID, deferredRequest{r, ctx.Sender()}})
	case !e.archived && e.job.State == messages.Retired:
		refuse(ctx, r, cmp.Or(s.journalErr, &messages.Error{
			Code: messages.Busy, Message: fmt.Sprintf("the end of job %s is not recorded yet", e.job.ID), Hint: "try again soon",
		}))
	case !e.archived:
		refuse(ctx, r, &messages.Error{
			Code: messages.Refused, Reason: "running", Message: fmt.Sprintf("job %s has not ended", e.job.ID),
			Hint: "stop it first, or wait until its processes have ended and its output is closed",
		})
	case e.noticesPending(): // the next node would not know the notice
		refuse(ctx, r, &messages.Error{
			Code: messages.Refused, Reason: "on_finish", Message: fmt.Sprintf("job %s: the --on-finish notice is not delivered yet", e.job.ID),
			Hint: fmt.Sprintf("see troupe show %s; troupe gives up after a day", e.job.ID),
		})
	default:
		s.forget(ctx, e)
		s.removeForgotten()
		ctx.Respond(messages.JobFound{Job: e.record()})
	}
}

// retire archives a job that is over and removes records beyond the limits.
func (s *supervisor) retire(ctx actor.Context, e *jobEntry) {
	untold := e.endUntold()
	e.archived = true
	if untold {
		s.queueReplies(e, messages.CommandFinished{}.With(e.record()))
		s.updateWaiters(ctx, e)
	}
	s.keepRecord(e)
	s.trim(ctx)
	s.removeAgain(ctx, func(of messages.JobID) bool { return of == e.job.ID })
}

// removal is a RemoveJob that waits until the end of its job is recorded.
type removal struct {
	of messages.JobID
	deferredRequest
}

// removeAgain repeats waiting removals.
func (s *supervisor) removeAgain(ctx actor.Context, which func(of messages.JobID) bool) {
	s.pendingRemovals = slices.DeleteFunc(s.pendingRemovals, func(r removal) bool {
		if !which(r.of) {
			return false
		}
		ctx.RequestWithCustomSender(ctx.Self(), r.request, r.sender)
		return true
	})
}

// removeSoon removes the outputs of removed jobs in batches.
func (s *supervisor) removeSoon(ctx actor.Context) {
	switch n := len(s.forgotten); {
	case n >= max(1, s.limit.Finished/forgetPart):
		s.removeForgotten()
	case n > 0 && s.removeTimer == nil:
		s.removeTimer = sendLater(ctx, forgetDelay, removeTick{})
	}
}

// Outputs are removed in batches of 1/32 of Limits.Finished, since each batch costs a change of
// goroutine. A smaller batch waits at most forgetDelay.
const (
	forgetPart  = 32
	forgetDelay = 10 * time.Second
)

// removeTick says that a small batch has waited for forgetDelay.
type removeTick struct{ noDeadLetter }

// forget removes a job that is over. Its output is removed soon.
func (s *supervisor) forget(ctx actor.Context, e *jobEntry) {
	s.drop(e)
	s.logBytes -= logBytes(*e.job)
	switch i := slices.Index(s.archived, e.job.ID); {
	case i == 0: // the usual case
		s.archived = s.archived[1:]
	case i > 0:
		s.archived = slices.Delete(s.archived, i, i+1)
	}
	s.awaitingNotice = slices.DeleteFunc(s.awaitingNotice, func(id messages.JobID) bool { return id == e.job.ID })
	if pid, ok := s.archives[e.job.ID]; ok {
		delete(s.archives, e.job.ID)
		poisonChild(ctx, pid)
	}
	if !e.settled {
		s.forgetUnsettled(ctx, e)
		return
	}
	s.forgotten = append(s.forgotten, removedJob{e.job.ID, e.job.UID})
}

// removedJob is a removed job with an output. The journal has it until the output is removed,
// so that the next node can remove it.
type removedJob struct {
	id  messages.JobID
	uid messages.UID
}

// removeForgotten removes the outputs of removed jobs.
func (s *supervisor) removeForgotten() {
	deps, jobs := s.deps, s.forgotten
	s.forgotten = nil
	for _, job := range jobs {
		s.queueEntry(JournalEntry{Removed: []messages.JobID{job.id}})
	}
	deps.Workers.Apart.Schedule(func() { deps.removeLogs(jobs) })
}

// removeLogs removes the outputs of jobs. It may wait for a disk, so no actor calls it.
func (d *Deps) removeLogs(jobs []removedJob) {
	for _, job := range jobs {
		if err := d.Logs.Remove(string(job.uid)); err != nil && !errors.Is(err, spill.ErrNotFound) {
			d.Log.Warn("cannot remove an output", slog.String("job", string(job.uid)), slog.Any("error", err))
		}
	}
}

// task answers a request about a task of a host.
func (s *supervisor) task(ctx actor.Context, request messages.Refusable) {
	var err *messages.Error
	switch r := request.(type) {
	case messages.AnnounceTask:
		scope := messages.Address{Scope: cmp.Or(r.Scope, messages.MainScope)}
		if err = cmp.Or(r.Check(), s.isClosing(scope)); err == nil {
			err = s.tasks.announce(r, clock())
		}
	case messages.UpdateTask:
		if err = r.Check(); err == nil {
			err = s.tasks.update(r, clock())
		}
	}
	if err != nil {
		refuse(ctx, request, err)
		return
	}
	ctx.Respond(messages.Acknowledged{})
}

func (s *supervisor) listSessions(r messages.ListSessions) messages.SessionList {
	list := messages.SessionList{Sessions: s.sessionList(r.Scope)}
	if r.Recent {
		list.Recent = s.shells.recentEnds.of(r.Scope)
	}
	return list
}

// sessionList counts what runs in the sessions of a scope and its sub-scopes. A job that may
// start counts as one that runs: its command may ask before the supervisor knows of its start.
func (s *supervisor) sessionList(scope messages.ScopePath) []messages.SessionInfo {
	found := map[messages.Address]*messages.SessionInfo{}
	for at, info := range s.sessions {
		if scope == "" || scope.Contains(at.Scope) {
			if use := s.shells.uses[at]; use != nil {
				info.Used = use.used
			}
			found[at] = &info
		}
	}
	for _, e := range s.jobs {
		info, ok := found[messages.Address{Scope: e.job.Scope, Session: e.job.Session}]
		switch {
		case !ok || e.archived || e.job.State == messages.Retired: // over
		case e.waits():
			info.Queued++
		case e.job.State == messages.Finished:
			info.Adopted++
		default:
			info.Running++
		}
	}
	var out []messages.SessionInfo
	for _, info := range found {
		out = append(out, *info)
	}
	slices.SortFunc(out, func(a, b messages.SessionInfo) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Session, b.Session))
	})
	return out
}

func (s *supervisor) scopeList(path messages.ScopePath) []messages.ScopeInfo {
	var out []messages.ScopeInfo
	for _, p := range slices.Sorted(maps.Keys(s.scopeQuotas)) {
		if path != "" && !path.Contains(p) {
			continue
		}
		info := messages.ScopeInfo{Path: p, Quota: s.scopeQuotas[p]}
		for _, e := range s.jobs {
			if p.Contains(e.job.Scope) && !e.job.State.Ended() {
				info.Jobs++
			}
		}
		for at := range s.sessions {
			if p.Contains(at.Scope) {
				info.Sessions++
			}
		}
		out = append(out, info)
	}
	return out
}
