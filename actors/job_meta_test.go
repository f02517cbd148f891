package actors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends"
	"troupe/messages"
)

// However little of a memo fits, it has what the next node must know to do right by
// the job.
func TestAMemoThatHardlyFits(t *testing.T) {
	for _, long := range []int{10, backends.MaxMeta} {
		job := messages.Record{
			ID: "j1", Mode: messages.ModeSync, Background: true, Labels: messages.Labels{Name: strings.Repeat("n", long)}, Command: strings.Repeat("c", long),
			Flags: []messages.Flag{messages.FlagKept},
		}
		b := (&metaEncoder{terms: &jobOptions{grace: -1}, answered: 7}).of(&job)
		require.LessOrEqual(t, len(b), backends.MaxMeta)
		m := decodeJobMeta(b)
		require.NotNil(t, m)
		back := m.job("u")
		require.Equal(t, messages.JobID("j1"), back.ID)
		require.True(t, m.Background)
		require.True(t, back.Kept())
		require.Equal(t, int64(7), m.Answered)
		require.EqualValues(t, -1, m.terms(back).grace)
	}
}
