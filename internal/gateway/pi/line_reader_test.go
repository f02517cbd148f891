package pi

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// linesOf reads all lines; a long one is "LONG".
func linesOf(t *testing.T, in io.Reader) (lines []string) {
	t.Helper()
	for r := newLineReader(in); ; {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return lines
		case errors.Is(err, errLong):
			lines = append(lines, "LONG")
		default:
			require.NoError(t, err)
			lines = append(lines, string(line))
		}
	}
}

func TestR145_OnlyLFEndsALine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                              nil,
		"{\"a\":1}\r\n{\"b\":2}\r\n":    {`{"a":1}`, `{"b":2}`},
		"{\"a\":1}":                     {`{"a":1}`},
		"a\nb\r":                        {"a", "b"},
		"a\r\r\n":                       {"a\r"},
		"a\rb\n":                        {"a\rb"},
		"\n\r\n":                        {"", ""},
		"a\u2028b\u2029c\u0085d\v\fe\n": {"a\u2028b\u2029c\u0085d\v\fe"},
		"é漢👩\n":                         {"é漢👩"},
	} {
		for name, reader := range map[string]io.Reader{"whole": strings.NewReader(in), "by byte": iotest.OneByteReader(strings.NewReader(in)), "last with its error": iotest.DataErrReader(strings.NewReader(in))} {
			require.Equal(t, want, linesOf(t, reader), "%q %s", in, name)
		}
	}
}

// A line of the longest length is read, one above it is skipped to its end, and both are
// bounded in memory.
func TestR145_ALongLineIsSkipped(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("x", maxLine)
	require.Equal(t, []string{most}, linesOf(t, strings.NewReader(most+"\r\n")))
	for _, end := range []string{"\n", "\r\n", strings.Repeat("y", 100<<10) + "\n"} {
		got := linesOf(t, strings.NewReader("a\n"+most+"xxx"+end+"b\n"+most+"xxx"+end+"c"))
		require.Equal(t, []string{"a", "LONG", "b", "LONG", "c"}, got, "%d", len(end))
	}
	require.Equal(t, []string{"LONG"}, linesOf(t, strings.NewReader(most+"xxx")), "without its end")

	r := newLineReader(io.MultiReader(strings.NewReader(most+"xxx"), iotest.ErrReader(errors.New("not read"))))
	_, err := r.next()
	require.ErrorIs(t, err, errLong, "it is refused before its end has come")
}

func TestALineReaderReportsWhyThereIsNoLine(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := newLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	line, err := r.next()
	require.NoError(t, err)
	require.Equal(t, "a", string(line))
	_, err = r.next()
	require.ErrorIs(t, err, broken, "half a line is no line")
}
