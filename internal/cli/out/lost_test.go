package out

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// What is missing of an output that was whole when its job ended is not said to be
// missing because of a limit.
func TestWhyAnOutputIsMissing(t *testing.T) {
	gap := func(from int64) []messages.StreamOutput {
		return []messages.StreamOutput{{Elided: []messages.OutputGap{{From: from, To: from + 1}}}}
	}
	for want, jobs := range map[string][]messages.Record{
		"the output reached its limit":  {{State: messages.Retired, Output: gap(5)}, {State: messages.Running, Output: []messages.StreamOutput{{}}}},
		"lost after the end of the job": {{State: messages.Retired, Output: []messages.StreamOutput{{}}}},
		"file was changed or remove":    {{State: messages.Retired, Output: gap(0)}, {State: messages.Running, Flags: []messages.Flag{messages.FlagLogUnlinked}}},
	} {
		for _, job := range jobs {
			require.Contains(t, WhyLost(job), want)
		}
	}
}
