package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// The end of a job says where its output is and what of it was not kept; what is said
// without either takes neither back.
func TestAnEndTellsOfItsOutputs(t *testing.T) {
	c := Command{Job: &messages.Record{ID: "j1", Output: []messages.StreamOutput{{}}}}
	for _, event := range []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}} {
		c, _ = c.Step(noon, event)
	}
	end := exited(messages.ExitStatus{}, messages.Cause{})
	end.Outputs = []messages.OutputState{{File: "/f", Elided: []messages.OutputGap{{From: 2, To: 4}}}}
	c, _ = c.Step(noon, end)
	want := []messages.StreamOutput{{Bytes: 5, File: "/f", Elided: []messages.OutputGap{{From: 2, To: 4}}}}
	require.Equal(t, want, c.Job.Output)

	c, _ = c.Step(noon, messages.OutputClosed{Seq: 4, Sizes: messages.Sizes{9}})
	want[0].Bytes = 9
	require.Equal(t, want, c.Job.Output)
}
