package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Clients choose the names of scopes, so the number of labels has a limit.
func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	var l scopeLabels
	for i := range maxScopeLabels {
		require.Equal(t, fmt.Sprintf("s%d", i), l.of(messages.ScopePath(fmt.Sprintf("s%d", i))))
	}
	require.Equal(t, otherScopes, l.of("one-more"))
	require.Equal(t, "s3", l.of("s3"))
}

// A log file is truncated when it is too large, opened with O_APPEND or not.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	for _, how := range []int{os.O_APPEND, 0} {
		file, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_RDWR|how, 0o600)
		require.NoError(t, err)
		defer file.Close()
		log := &boundedLog{file: file}
		line := []byte(strings.Repeat("x", 1<<20) + "\n")
		for i := range 16 {
			_, err := log.Write(line)
			require.NoError(t, err)
			info, err := file.Stat()
			require.NoError(t, err)
			require.Equal(t, int64((i%4+1)*len(line)), info.Size())
		}
		text, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(string(line), 4), string(text))
	}
}

// Each failure of an actor is counted.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	n := newNumbers()
	n.failure("sink")
	n.failure("sink")
	all, err := n.registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		if family.GetName() == "troupe_actor_failures_total" {
			require.Len(t, family.GetMetric(), 1)
			require.Equal(t, "sink", family.GetMetric()[0].GetLabel()[0].GetValue())
			require.InDelta(t, 2, family.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Fatal("it has none")
}
