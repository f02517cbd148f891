package actors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// An entry holds the request and the environment until its job has begun, and the terms
// until it is settled: of the many jobs that are over nothing of a request is left.
func TestAnEntryLetsGoOfTheRequest(t *testing.T) {
	s := newSupervisor(&Deps{})
	r := &messages.RunCommand{Program: messages.Program{Text: "make"}, Open: &messages.SessionPlan{Env: messages.Env{Set: []string{"A=b"}}}}
	e := &jobEntry{job: &messages.Record{ID: "j1", State: messages.Starting}, run: r, env: []string{"A=b"}, terms: jobOptionsOf(r)}
	s.jobs["j1"] = e
	s.applyFact(unsent{}, messages.CommandChanged{}, &messages.Record{ID: "j1", State: messages.Starting})
	require.Same(t, r, e.run)
	require.NotNil(t, e.env)
	s.applyFact(unsent{}, messages.CommandStarted{}, &messages.Record{ID: "j1", State: messages.Running})
	require.Nil(t, e.run)
	require.Nil(t, e.env)
	require.Same(t, r.Open, e.terms.open)
	s.settled(unsent{}, "j1")
	require.Nil(t, e.terms)
}
