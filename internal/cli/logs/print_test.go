package logs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Of several flags that show nothing the same one is told each time.
func TestLogsTellsTheFirstFault(t *testing.T) {
	t.Parallel()
	for range 100 {
		f := &Flags{}
		err := f.Check(func(flag string) bool { return flag == "lines" || flag == "limit" || flag == "head" }, false)
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "lines"})
	}
}

// A number alone may be seconds or a moment: it is refused, and the error says what to write.
func TestAMomentHasAUnit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "10", "1.5", "1700000000"} {
		f := Flags{SinceText: text}
		require.ErrorContains(t, f.moment(time.Now()), "use "+text+"s for "+text+" seconds ago")
	}
}
