package out

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A long name leaves room for what a job does, and a narrow terminal for both.
func TestALongNameLeavesRoomForTheStatus(t *testing.T) {
	t.Parallel()
	now := time.Now()
	jobs := []messages.Record{
		{ID: "j1", Labels: messages.Labels{Name: strings.Repeat("long-", 12)}, Scope: "main/ci", Session: "default", State: messages.Running, Background: true, Started: now, Command: "make every thing"},
		{ID: "j2", Labels: messages.Labels{Name: "b"}, Scope: "main", Session: "default", State: messages.Queued, Created: now, Command: "true"},
	}
	for width, want := range map[int]string{
		30: "ID  NAME      STATUS      COM…\nj1  long-lo…  running 0s  mak…\nj2  b         queued 0s   true\n",
		40: "ID  NAME        STATUS      COMMAND\nj1  long-long…  running 0s  make every …\nj2  b           queued 0s   true\n",
		0:  "",
	} {
		var b strings.Builder
		require.NoError(t, JobTable(jobs, now).Write(&b, width))
		if width > 0 {
			require.Equal(t, want, b.String())
			continue
		}
		require.Contains(t, b.String(), jobs[0].Name+"  main/ci")
	}
}

func TestStatusTexts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ended := func(j messages.Record) messages.Record {
		j.State, j.End.At = messages.Finished, now.Add(-2*time.Minute)
		return j
	}
	for want, j := range map[string]messages.Record{
		"running 3s":                     {State: messages.Running, Background: true, Started: now.Add(-3 * time.Second)},
		"running 3s, foreground":         {State: messages.Running, Started: now.Add(-3 * time.Second)},
		"queued 1m":                      {State: messages.Queued, Created: now.Add(-time.Minute)},
		"running 3s, waits for input":    {State: messages.Running, WaitingForInput: true, Started: now.Add(-3 * time.Second)},
		"exited 7, 2m ago":               ended(messages.Record{End: messages.End{Outcome: messages.Exited, Code: new(7)}}),
		"signal KILL, 2m ago":            ended(messages.Record{End: messages.End{Outcome: messages.Signaled, Signal: "KILL"}}),
		"timed out, 2m ago":              ended(messages.Record{End: messages.End{Outcome: messages.TimedOut}}),
		"cancelled, 2m ago":              ended(messages.Record{End: messages.End{Outcome: messages.Cancelled}}),
		"failed to start, 2m ago":        ended(messages.Record{End: messages.End{Outcome: messages.FailedToStart}}),
		"lost, 2m ago":                   ended(messages.Record{End: messages.End{Outcome: messages.Lost}}),
		"running 3s, output was blocked": {State: messages.Running, Flags: []messages.Flag{messages.FlagLogBlocked}, Started: now.Add(-3 * time.Second)},
	} {
		require.Equal(t, want, StatusText(j, now))
	}
}

// One of something is one.
func TestNumbersOfThings(t *testing.T) {
	t.Parallel()
	require.Contains(t, RecordText(messages.Record{ID: "j1", End: messages.End{Children: 1}, OutputOpen: true}, time.Now()), "leftover  1 process, output still open\n")
	require.Contains(t, RecordText(messages.Record{ID: "j1", End: messages.End{Children: 2}}, time.Now()), "leftover  2 processes\n")
}
