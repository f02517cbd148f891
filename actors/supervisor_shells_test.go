package actors

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Who makes room for one more live shell is found by one look at the jobs, however many
// shells there are: it is the supervisor's own time.
func TestRoomForAShellIsFoundAtOnce(t *testing.T) {
	const shells, finished = 4000, 10000
	s := &supervisor{
		deps: &Deps{}, limit: Limits{Shells: shells}, closings: map[messages.Address]*pendingClose{},
		sessions: map[messages.Address]messages.SessionInfo{}, jobs: map[messages.JobID]*jobEntry{}, shells: manyShells(shells),
	}
	for i := range finished {
		id := messages.JobID(fmt.Sprintf("j%d", i))
		s.jobs[id] = &jobEntry{archived: true, job: &messages.Record{ID: id, Scope: "main", Session: "s1", State: messages.Finished}}
	}
	busy := messages.Address{Scope: "main", Session: "s0"}
	s.jobs["busy"] = &jobEntry{job: &messages.Record{ID: "busy", Scope: busy.Scope, Session: busy.Session, State: messages.Running}}
	begin := time.Now()
	require.Nil(t, s.checkShellLimit())
	added := messages.Address{Scope: "main", Session: "new"}
	s.shells.uses[added] = &shellUse{used: time.Unix(0, 0)}
	s.shells.uses[messages.Address{Scope: "main", Session: "to be"}] = &shellUse{pending: true}
	victims := s.shellsToEvict(added)
	took := time.Since(begin)
	require.Equal(t, []messages.Address{{Scope: "main", Session: "s1"}}, victims) // s0 is older, and busy
	require.Less(t, took, 5*time.Second)                                          // a look for each shell took 27 s
}

// manyShells are so many shells, each used a second later than the one before.
func manyShells(n int) shells {
	all := shells{uses: map[messages.Address]*shellUse{}}
	for i := range n {
		at := messages.Address{Scope: "main", Session: messages.SessionID(fmt.Sprintf("s%d", i))}
		all.uses[at] = &shellUse{used: time.Unix(int64(i), 0)}
	}
	return all
}

// The last hundred ends are kept, the last one first, and shown to whoever may see their
// scope; what was shown does not change.
func TestTheLastEndsAreKept(t *testing.T) {
	var ends recentEnds
	for i := range messages.MaxRecent + 50 {
		ends.add(messages.SessionEnd{Scope: []messages.ScopePath{"main", "other"}[i%2], Length: i})
	}
	all := ends.of("")
	require.Len(t, all, messages.MaxRecent)
	require.Equal(t, messages.MaxRecent+49, all[0].Length)
	require.Equal(t, 50, all[messages.MaxRecent-1].Length)
	require.Len(t, ends.of("main"), messages.MaxRecent/2)
	ends.add(messages.SessionEnd{Scope: "main"})
	require.Equal(t, messages.MaxRecent+49, all[0].Length)
}
