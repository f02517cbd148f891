package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// checkConditions returns why a run cannot wait for what it names, or nil. It replaces names of
// jobs by their ULIDs.
func (s *supervisor) checkConditions(r *messages.RunCommand) *messages.Error {
	if r.StartWaits.Nothing() {
		return nil
	}
	if err := s.conditions.Check(r.StartWaits); err != nil {
		return err
	}
	after := r.After
	r.After = nil // another one: the request of the client is compared with a repeat
	for _, a := range after {
		e, err := s.find(a.Job)
		if err != nil {
			return err
		}
		a.Job = messages.JobID(e.job.UID)
		r.After = append(r.After, a)
	}
	caller, err := s.find(r.CalledBy)
	if r.CalledBy == "" || err != nil || caller.job.State.Ended() {
		return nil
	}
	if s.conditions.LeadsTo(r.StartWaits, caller.job.ID, caller.job.UID, s.idOfUID) {
		return &messages.Error{
			Code: messages.Conflict, Reason: "cycle", Message: "job " + string(caller.job.ID) + " waits for this one, which would wait for it: neither could go on",
			Hint: "leave the condition out, or run it in the background",
		}
	}
	return nil
}

// idOfUID returns the id of the job with a ULID; the ULID if it is not listed any more.
func (s *supervisor) idOfUID(uid messages.JobID) messages.JobID {
	if e := s.byUID[messages.UID(uid)]; e != nil {
		return e.job.ID
	}
	return uid
}

// awaitConditions lets a job that is to be placed wait for what its request names. It returns what
// happens to other jobs.
func (s *supervisor) awaitConditions(e *jobEntry) (others []lifecycle.ConditionEffect) {
	if e.run == nil || e.run.StartWaits.Nothing() {
		return nil
	}
	var left []messages.After
	var never *messages.Error
	for _, a := range e.run.After {
		before := s.byUID[messages.UID(a.Job)]
		switch {
		case before == nil:
			never = &messages.Error{
				Code: messages.Refused, Reason: "after", Message: "it was to start after job " + string(a.Job) + ", whose record is not kept any more", Hint: "run it again without that condition",
			}
		case !before.job.State.Ended():
			left = append(left, a)
		case !a.On.Met(before.job.End):
			never = lifecycle.NotMet(a.On, before.job.ID, before.job.End)
		}
	}
	for _, effect := range s.conditions.Add(e.job.ID, e.job.Scope, e.run.StartWaits, left, never) {
		if effect.Job != e.job.ID {
			others = append(others, effect)
		}
	}
	return others
}

// conditionsOver takes the end of a job, for which others may wait.
func (s *supervisor) conditionsOver(ctx actor.Context, job messages.Record) {
	s.conditionsMet(ctx, s.conditions.Ended(job.ID, job.UID, job.End))
}

// conditionsMet lets jobs start that have waited, and ends those that never can.
func (s *supervisor) conditionsMet(ctx actor.Context, todo []lifecycle.ConditionEffect) {
	for _, effect := range todo {
		e := s.jobs[effect.Job]
		switch {
		case e == nil || s.jobsReleased():
		case effect.Err != nil:
			s.send(ctx, s.jobAddress(e), neverStarts{err: *effect.Err}, nil)
		default:
			s.send(ctx, s.jobAddress(e), startAllowed{job: effect.Job}, nil)
		}
	}
}

// restoreConditions takes over the locks of jobs that run, and lets queued jobs wait again.
func (s *supervisor) restoreConditions() {
	queued := s.sorted()
	for _, e := range queued {
		if !e.job.State.Ended() && e.run == nil && e.job.Request != nil {
			s.conditions.Hold(e.job.ID, e.job.Request.StartWaits)
		}
	}
	for _, e := range queued {
		if !e.job.State.Ended() {
			s.awaitConditions(e)
		}
	}
}

// withWaits adds to the record of a queued job what it waits for.
func (s *supervisor) withWaits(job messages.Record, order []messages.JobID) messages.Record {
	if job.State == messages.Queued {
		job.WaitsFor = s.conditions.For(job.ID, order, s.idOfUID)
	}
	return job
}
