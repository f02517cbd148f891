package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// The events of background jobs are not all: that events are missing is reported, too.
func TestEventsOfTheBackgroundReportWhatIsMissing(t *testing.T) {
	f := &eventFlags{background: true}
	require.True(t, f.shows(api.Event{Kind: api.FactsDropped, From: 1}))
	require.True(t, f.shows(api.Event{Kind: "command_finished", Job: &messages.Record{Background: true}}))
	require.False(t, f.shows(api.Event{Kind: "command_finished", Job: &messages.Record{}}))
	require.False(t, f.shows(api.Event{Kind: "session_opened"}))
	require.True(t, (&eventFlags{}).shows(api.Event{Kind: "session_opened"}))
}
