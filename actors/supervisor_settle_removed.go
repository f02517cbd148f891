package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A job may be forgotten when its end is recorded and its engine was not yet told to
// forget it, too: the word for that is on its way down the tree. If it is lost with an
// actor above the job's, the job is placed once more, so that somebody tells the
// engine, which would keep the end for ever. The node has it for that alone: nobody
// finds it any more.

// The journal has it as long as the engine, and its output is there: the next node would
// take an end that the engine has and the journal has not for one that nobody was told of.

// forgetUnsettled keeps what it takes to settle a job that is forgotten, and has its
// session say when that is done.
func (s *supervisor) forgetUnsettled(ctx actor.Context, e *jobEntry) {
	if s.settling == nil {
		s.settling = map[messages.JobID]*jobEntry{}
	}
	s.settling[e.job.ID] = e
	s.askSettled(ctx, e)
}

func (s *supervisor) askSettled(ctx actor.Context, e *jobEntry) {
	s.send(ctx, s.jobAddress(e), querySettled{job: e.job.ID}, nil)
}

// settledLate removes what is left of a job that was forgotten before it was settled.
func (s *supervisor) settledLate(id messages.JobID) {
	if e, ok := s.settling[id]; ok {
		delete(s.settling, id)
		s.forgotten = append(s.forgotten, removedJob{e.job.ID, e.job.UID})
		s.removeForgotten()
	}
}

// leaveUnsettled gives up on the jobs of a session that is gone. What is left of them the
// next node removes, if there may be one.
func (s *supervisor) leaveUnsettled(at messages.Address) {
	for id, e := range s.settling {
		if !s.endUnsettled(e) && e.job.Scope == at.Scope && e.job.Session == at.Session {
			if s.deps.lasts() {
				delete(s.settling, id)
				continue
			}
			s.settledLate(id)
		}
	}
}
