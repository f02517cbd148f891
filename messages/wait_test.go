package messages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The refusal of a stream names it.
func TestWaitNamesTheStream(t *testing.T) {
	for stream, message := range map[Stream]string{
		Both: `invalid stream "both": use merged, stdout or stderr`, 9: `invalid stream "9": use merged, stdout or stderr`,
	} {
		r := WaitJobs{Jobs: []JobID{"j1"}, Condition: Condition{Kind: UntilPattern, Pattern: "a", Stream: stream}}
		require.Equal(t, Invalid("stream", message), r.Check())
	}
}
