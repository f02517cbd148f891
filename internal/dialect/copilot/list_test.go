package copilot

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A command that ends while it is listed is shown as it was at one moment: the line that
// the model sees and the task of the host tell the same. The end that a tool has told is
// known as heard, and no other.
func TestTheListTellsOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.call("bash", args{"command": "make", "description": "Make", "mode": "async", "shellId": "mine"})
		j := <-h.first
		h.looks = func() {
			h.looks = nil
			h.exits(j, 3)
			<-r.told
		}
		seen := func() (line, status string) {
			result := r.call("list_bash", args{})
			var shown struct{ Shells []Task }
			text, err := json.Marshal(result.Details)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &shown))
			require.Len(t, shown.Shells, 1)
			return result.Text, string(shown.Shells[0].Status)
		}
		line, status := seen()
		require.Contains(t, line, "status: running")
		require.Equal(t, "running", status)
		line, status = seen()
		require.Contains(t, line, "status: completed with exit code 3")
		require.Equal(t, "failed", status)

		require.False(t, r.Heard("mine"))
		require.False(t, r.Heard("another"))
		require.Contains(t, r.call("read_bash", args{"shellId": "mine", "delay": 1}).Text, "3")
		require.True(t, r.Heard("mine"))
	})
}
