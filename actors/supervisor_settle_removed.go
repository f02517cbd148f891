package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A job may be removed before its end is settled with the engine: its confirmation is still
// going down the tree. If a crash loses that, the job is placed again, since the engine would
// keep the end for ever. Its entry is kept only for that; no request finds it.
//
// The journal keeps the job as long as the engine does. Otherwise the next node would report
// its end again.

// forgetUnsettled keeps the entry of a removed job and asks its session to report when it is
// settled.
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

// settledLate removes the entry and the output of a removed job that is settled now.
func (s *supervisor) settledLate(id messages.JobID) {
	if e, ok := s.settling[id]; ok {
		delete(s.settling, id)
		s.forgotten = append(s.forgotten, removedJob{e.job.ID, e.job.UID})
		s.removeForgotten()
	}
}

// leaveUnsettled drops the removed jobs of a session that is gone. If the journal is durable,
// the next node removes their outputs.
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
