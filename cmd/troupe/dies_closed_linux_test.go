package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// What was closed stays closed, however soon the daemon is killed then: no session of it is
// there again, no scope, no shell, and nothing of what the shell knew. A session that was
// not closed goes on where its shell was, also where that had ended.
func TestKilledDaemonsClosedSessions(t *testing.T) {
	t.Parallel()
	m := begins(t)
	run := func(session messages.SessionID, text string) messages.Record {
		t.Helper()
		result, err := m.client.Run(t.Context(), messages.RunCommand{
			Scope: "a/b", Session: session, Program: messages.Program{Text: text}, Env: messages.Env{Set: []string{"PATH=/usr/bin:/bin"}}, Open: &messages.SessionPlan{Backend: messages.BackendShell, Shell: "bash", Dir: "/"},
		})
		require.NoError(t, err)
		return result.Job
	}
	open := func() (sessions []messages.SessionID, scopes []messages.ScopePath) {
		t.Helper()
		all, err := m.client.Sessions(t.Context(), "")
		require.NoError(t, err)
		for _, s := range all {
			sessions = append(sessions, s.Session)
		}
		paths, err := m.client.Scopes(t.Context(), "")
		require.NoError(t, err)
		for _, s := range paths {
			scopes = append(scopes, s.Path)
		}
		return sessions, scopes
	}
	_, err := m.client.Run(t.Context(), messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "true"}}) // in default, on pipes
	require.NoError(t, err)
	run("lives", "export KNOWN=1; cd /tmp")
	require.Equal(t, 3, run("ended", "export KNOWN=1; cd /tmp; exit 3").End.Shell())
	_, err = host.Ask(t.Context(), m.client.Host(), messages.CloseScope{Path: "a"})
	require.NoError(t, err)
	for e, err := range m.client.Events(t.Context(), messages.Subscribe{}) { // of a shell that had ended before, the engine does not know
		require.NoError(t, err)
		if e.Scope != nil && e.Scope.Path == "a" && e.Kind == "scope_closed" {
			break
		}
	}
	m.killed()
	m.again()
	sessions, scopes := open()
	require.Empty(t, sessions)
	require.NotContains(t, scopes, messages.ScopePath("a"))
	require.Equal(t, 0, run("lives", `test -z "$KNOWN" -a "$PWD" = /`).End.Shell())

	require.Equal(t, 3, run("stays", "export KNOWN=1; cd /tmp; exit 3").End.Shell())
	_, err = m.client.CloseSession(t.Context(), messages.CloseSession{Scope: "a/b", Session: "lives"})
	require.NoError(t, err)
	m.killed()
	m.again()
	sessions, _ = open()
	require.Equal(t, []messages.SessionID{"stays"}, sessions)
	require.Equal(t, 0, run("stays", `test "$KNOWN" = 1 -a "$PWD" = /tmp`).End.Shell())
}
