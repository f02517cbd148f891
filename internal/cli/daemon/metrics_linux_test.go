package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Beyond maxCounted jobs late output is not counted. The bytes counted at their ends are
// not counted again.
func TestLateOutputIsCountedWithinABound(t *testing.T) {
	t.Parallel()
	n := newNumbers()
	count := func(fact messages.Fact) { n.count(messages.Notification{Fact: fact}) }
	job := func(i, bytes int) messages.Record {
		return messages.Record{UID: messages.UID(string(rune(i))), Scope: "main", Output: []messages.StreamOutput{{Bytes: int64(bytes)}}}
	}
	for i := range maxCounted + 1 {
		count(messages.CommandFinished{Job: job(i, 2)})
	}
	for i := range maxCounted + 1 {
		count(messages.CommandRetired{Job: job(i, 3)})
	}
	require.Empty(t, n.counted)
	all, err := n.registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		if family.GetName() == "troupe_output_bytes_total" {
			require.Equal(t, 3*maxCounted+2, int(family.GetMetric()[0].GetCounter().GetValue()))
			return
		}
	}
	require.Fail(t, "there is no such number")
}
