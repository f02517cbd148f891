package actors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A channel that is made anew under the name of one that was left is not left, in
// whichever order the journal takes the parts of an entry.
func TestAnEntryHasTheLastWordOfAChannel(t *testing.T) {
	var e JournalEntry
	e.add(JournalEntry{Channels: []SubscriberCursor{{ID: "a", Acked: 1}, {ID: "b"}}, Acks: []messages.Acknowledge{{Channel: "a", Seq: 2}}})
	e.add(JournalEntry{Left: []messages.ChannelID{"a"}})
	require.Equal(t, JournalEntry{Channels: []SubscriberCursor{{ID: "b"}}, Acks: []messages.Acknowledge{}, Left: []messages.ChannelID{"a"}}, e)
	e.add(JournalEntry{Channels: []SubscriberCursor{{ID: "a", Acked: 7}}})
	require.Empty(t, e.Left)
	e.add(JournalEntry{Channels: []SubscriberCursor{{ID: "a", Acked: 9}}})
	require.Equal(t, []SubscriberCursor{{ID: "b"}, {ID: "a", Acked: 9}}, e.Channels)
}

// Of two jobs under one key, of which a node may find the older one again that it
// had forgotten, the younger has it.
func TestAForgottenJobLeavesTheKeyOfAnother(t *testing.T) {
	s := newSupervisor(&Deps{})
	for _, id := range []messages.JobID{"j1", "j2"} {
		s.restoreEntry(RestoredJob{Job: messages.Record{ID: id, UID: messages.UID(id), State: messages.Retired}, Key: "k"}, nil, false)
	}
	s.drop(s.jobs["j1"])
	require.Equal(t, map[idempotencyKey]messages.JobID{{key: "k"}: "j2"}, s.byKey)
}
