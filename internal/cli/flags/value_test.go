package flags

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A number alone is seconds, as it is of timeout and sleep; what could mean something else
// is refused, and by what it is.
func TestDurationsAreSecondsWithoutAUnit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "1.5": 1500 * time.Millisecond, ".25": 250 * time.Millisecond, "3.": 3 * time.Second, "+7": 7 * time.Second,
		"08": 8 * time.Second, "0": 0, "0.0": 0, "315360000": messages.MaxDuration, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute,
	} {
		d := Duration{Name: "grace", Zero: true}
		require.NoError(t, d.Set(text), text)
		require.Equal(t, want, d.D, text)
		require.True(t, d.Given)
	}
	for text, says := range map[string]string{
		"": "invalid --timeout", "1e3": "invalid --timeout", "0x10": "invalid --timeout", "1_000": "invalid --timeout", "1,5": "invalid --timeout", "1 ": "invalid --timeout",
		"1m30": "invalid --timeout", "inf": "invalid --timeout", "1.2.3": "invalid --timeout", ".": "invalid --timeout", "5 s": "invalid --timeout", "\u0665": "invalid --timeout",
		"-5": "is negative", "-1s": "is negative", "0": "would expire at once", "315360001": "is more than ten years",
		"99999999999999999999": "is more than ten years",
	} {
		d := Duration{Name: "timeout"}
		require.ErrorContains(t, d.Set(text), says, text)
	}
}

// Numbers of lines and events are decimal, also with the zeros in front that scripts print.
func TestNumbersAreDecimal(t *testing.T) {
	var lines int64
	var seq uint64
	l, n := LineNumber{Name: "lines", N: &lines}, (*Seq)(&seq)
	for text, want := range map[string]int64{"10": 10, "010": 10, "0": 0, "08": 8, "-5": -5} {
		require.NoError(t, l.Set(text), text)
		require.Equal(t, want, lines, text)
		if want >= 0 {
			require.NoError(t, n.Set(text), text)
			require.EqualValues(t, want, seq, text)
		}
	}
	for _, text := range []string{"", "0x10", "1_0", "1e3", "0b1", "+3", " 3", "99999999999999999999"} {
		require.Error(t, l.Set(text), text)
		require.Error(t, n.Set(text), text)
	}
}

// A comma in a size may be a point: it is refused.
func TestSizesHaveNoCommas(t *testing.T) {
	var q Quota
	for _, text := range []string{"1,5GB", "1,000", "5,MB", ",5"} {
		require.ErrorContains(t, q.Set(text), "invalid --max-output", text)
	}
	require.NoError(t, q.Set("1.5GB:pause"))
	require.Equal(t, messages.Quota{Bytes: 1_500_000_000, Policy: "pause"}, q.Quota)
}
