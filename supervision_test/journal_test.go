package supervision_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/messages"
)

// A record is shared by all who were sent it: the journal that writes it may not
// touch it. The race detector sees that it does not.
func TestTheJournalOnlyReadsWhatItWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ours")
	require.NoError(t, os.Mkdir(dir, 0o700))
	j, err := journal.OpenBolt(filepath.Join(dir, "journal.db"), journal.BoltOptions{NoSync: true})
	require.NoError(t, err)
	defer j.Close()
	job := messages.Record{ID: "j1", UID: "U1", End: messages.End{Code: new(0)}, Output: []messages.StreamOutput{{Lines: new(int64(0)), LinesExact: true}}}
	var wait sync.WaitGroup
	wait.Go(func() {
		seen := 0
		for range 1000 {
			if o := job.Output[0]; o.Lines != nil && o.LinesExact {
				seen++
			}
		}
		require.Equal(t, 1000, seen)
	})
	for n := range 20 {
		require.NoError(t, j.Append([]messages.FactRecorded{{Seq: messages.Seq(n + 1), Fact: messages.CommandChanged{Job: job}}}))
	}
	wait.Wait()
}
