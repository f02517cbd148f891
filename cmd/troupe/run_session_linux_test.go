package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// The next daemon knows where a live shell is in which nothing runs, when it was used,
// and which sessions have ended, although the one before was killed.
func TestFaultSessionsAreRememberedByTheNextDaemon(t *testing.T) {
	t.Parallel()
	m := begins(t)
	require.Equal(t, "", m.says("idle", "cd /usr/lib; true", 0))
	require.Equal(t, "", m.says("gone", "exit 3", 3))
	m.beside("close", "gone").start().ends(0)
	where := func() (cwd, used string) {
		var list struct {
			Sessions []struct {
				Session, Cwd string
				Used         string `json:"used_at"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(m.beside("sessions", "--json").start().rest()), &list))
		for _, s := range list.Sessions {
			if s.Session == "idle" {
				return s.Cwd, s.Used
			}
		}
		return "", ""
	}
	cwd, used := where()
	require.Equal(t, "/usr/lib", cwd)
	ends := m.beside("sessions", "--recent", "--json").start().rest()
	require.Contains(t, ends, `"session":"gone","backend":"shell","reason":"error"`)
	require.Contains(t, ends, `"session":"gone","backend":"shell","reason":"stopped"`)
	_, recent, _ := strings.Cut(ends, `"recent"`)

	for range 2 { // of the second nothing was written since
		m.killed()
		m.again()
		again, usedAgain := where()
		require.Equal(t, cwd, again)
		before, err := time.Parse(time.RFC3339, used)
		require.NoError(t, err)
		after, err := time.Parse(time.RFC3339, usedAgain)
		require.NoError(t, err)
		require.WithinDuration(t, before, after, time.Second)
		_, still, _ := strings.Cut(m.beside("sessions", "--recent", "--json").start().rest(), `"recent"`)
		require.Equal(t, recent, still)
	}
	job := m.awaitEnd(m.run(messages.RunCommand{Session: "idle", Program: messages.Program{Text: "pwd"}}).ID)
	require.Equal(t, "/usr/lib", job.Dir)
}
