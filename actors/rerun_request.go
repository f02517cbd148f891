package actors

import (
	"fmt"

	"troupe/messages"
)

// rerunRequest completes a request that runs the command of a job again, from the record of that
// job. Other requests stay as they are.
func (s *supervisor) rerunRequest(r messages.RunCommand) (messages.RunCommand, *messages.Error) {
	if r.RerunOf == "" {
		return r, nil
	}
	e, err := s.find(r.RerunOf)
	if err != nil {
		return r, err
	}
	job := e.record()
	if err := s.sessionGone(job); err != nil {
		return r, err
	}
	full, err := r.Repeating(job, s.deps.isLive(job.Backend))
	if err != nil {
		return r, err
	}
	plain := full
	plain.RerunOf = ""
	if err := plain.Check(); err != nil {
		return r, err
	}
	return full, nil
}

// sessionGone returns the refusal of a rerun whose session is not open any more, or is another
// one of that name; nil: it can run there.
func (s *supervisor) sessionGone(job messages.Record) *messages.Error {
	info, open := s.sessions[messages.Address{Scope: job.Scope, Session: job.Session}]
	if job.Session == messages.DefaultSession || open && (info.Backend == job.Backend || job.Backend == "") {
		return nil
	}
	return &messages.Error{
		Code: messages.SessionClosedCode, Reason: "session",
		Message: fmt.Sprintf("job %s ran in session %s of scope %s, which is not open any more", job.ID, job.Session, job.Scope),
		Hint:    "run its command in another session, or without one",
	}
}

// takenHint returns what to do about a name that a live job has.
func takenHint(r messages.RunCommand) string {
	if r.RerunOf != "" {
		return "give the new job another name with --name, or stop the live one first with --replace"
	}
	return "use another name, or stop it first with --replace"
}
