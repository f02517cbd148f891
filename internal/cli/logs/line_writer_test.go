package logs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writes keeps each write apart.
type writes struct{ all []string }

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return len(b), nil
}

// Each write to the screen is of whole lines, with the label and the time of each.
func TestLinesOfAJobStayWhole(t *testing.T) {
	to := &writes{}
	w := &lineWriter{to: to, label: "web | ", times: true, at: time.Unix(0, 0)}
	for _, part := range []string{"a", "b\nc", "\n\nd"} {
		_, err := w.Write([]byte(part))
		require.NoError(t, err)
		w.at = w.at.Add(time.Second)
	}
	require.NoError(t, w.end())
	require.NoError(t, w.end())
	require.Equal(t, []string{
		"web | 1970-01-01T00:00:00Z ab\n", "web | 1970-01-01T00:00:01Z c\nweb | 1970-01-01T00:00:02Z \n", "web | 1970-01-01T00:00:02Z d\n",
	}, to.all)
	to.all, w.at = nil, time.Time{}
	_, _ = w.Write([]byte("x\n"))
	require.Equal(t, []string{"web | -                    x\n"}, to.all)
}

// A line of any length needs bounded memory.
func TestALongLineIsPrintedInParts(t *testing.T) {
	var got bytes.Buffer
	w := &lineWriter{to: &got, label: "> "}
	for range 1000 {
		_, _ = w.Write([]byte(strings.Repeat("x", 1000)))
		require.LessOrEqual(t, cap(w.line)+cap(w.whole), 4*lineMost)
	}
	require.NoError(t, w.end())
	require.Equal(t, 1_000_000, strings.Count(got.String(), "x"))
	lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
	require.Len(t, lines, 1_000_000/lineMost+1)
	for _, line := range lines {
		require.True(t, strings.HasPrefix(line, "> x"))
	}
}

func TestLabels(t *testing.T) {
	all := []source{{id: "j1", name: "web"}, {id: "j2"}, {id: "j30", name: "db"}, {id: "j31", name: "db"}}
	require.Equal(t, 3, named(all))
	var labels []string
	for i, s := range all {
		labels = append(labels, labelled(s.label, 3, i, false))
	}
	require.Equal(t, []string{"web | ", "j2  | ", "j30 | ", "j31 | "}, labels)
	require.Equal(t, "\x1b[0;33mweb |\x1b[0m ", labelled("web", 3, 1, true))
}
