package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/messages"
)

func origins(t *testing.T, j journal.Origins) []journal.Origin {
	t.Helper()
	all, err := j.Origins()
	must(t, err)
	return all
}

// Each opening has an origin of its own, with the newest fact at that time.
func TestOriginsOfOpenings(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		one := origins(t, j)
		require.Len(t, one, 1)
		require.Zero(t, one[0].After)
		require.True(t, messages.IsOrigin(one[0].ID) && len(one[0].ID) >= 16)
		must(t, j.Append(facts(1, 3)))
		require.Equal(t, one, origins(t, j))
		require.NotEqual(t, one, origins(t, journal.NewMemory(0)))
	})
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	first := origins(t, b)
	must(t, b.Append(facts(1, 3)))
	b = reopen(t, b, path, journal.BoltOptions{})
	two := origins(t, b)
	require.Len(t, two, 2)
	require.Equal(t, first[0], two[0])
	require.EqualValues(t, 3, two[1].After)
	require.NotEqual(t, two[0].ID, two[1].ID)
}

// A compaction keeps the origins, and their number is bounded: the newest stay.
func TestOriginsAreKept(t *testing.T) {
	path := place(t)
	o := journal.BoltOptions{CompactFrom: 1, NoSync: true}
	b := bolt(t, path, o)
	first := origins(t, b)[0]
	for range 20 {
		b = reopen(t, b, path, o)
	}
	all := origins(t, b)
	require.Len(t, all, 21)
	require.Equal(t, first, all[0])
	must(t, b.OpenedAgain(journal.MaxOrigins))
	bounded := origins(t, b)
	require.Len(t, bounded, journal.MaxOrigins)
	require.NotEqual(t, all[20], bounded[0])
}
