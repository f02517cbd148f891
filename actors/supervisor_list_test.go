package actors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A job that may start is counted among those that run, though its start is not known yet: its
// command must not wait for its own session.
func TestAJobThatMayStartRunsInItsSession(t *testing.T) {
	at := messages.Address{Scope: "main", Session: "dev"}
	s := &supervisor{sessions: map[messages.Address]messages.SessionInfo{at: {Scope: at.Scope, Session: at.Session}}, jobs: map[messages.JobID]*jobEntry{}}
	for id, granted := range map[messages.JobID]bool{"j1": true, "j2": false, "j3": false} {
		s.jobs[id] = &jobEntry{slotGranted: granted, job: &messages.Record{ID: id, Scope: at.Scope, Session: at.Session, State: messages.Queued}}
	}
	list := s.sessionList("")
	require.Len(t, list, 1)
	require.Equal(t, 1, list[0].Running)
	require.Equal(t, 2, list[0].Queued)
}
