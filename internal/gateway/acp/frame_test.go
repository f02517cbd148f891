package acp

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// stuckPipe holds each read and write until it is released.
type stuckPipe struct {
	io.Reader
	hold <-chan struct{}
}

func (p stuckPipe) Write([]byte) (int, error) {
	<-p.hold
	return 0, io.ErrClosedPipe
}

// newStuckPipes returns an input with one request, and an output that takes nothing.
func newStuckPipes(hold <-chan struct{}) (io.Reader, io.Writer) {
	return strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n"), stuckPipe{hold: hold}
}

// The code of a line that is no message, and the id of the answer.
var lines = []struct {
	line string
	code int
	id   string // "": null
}{
	{`{`, codeParse, ""},
	{"\x00\x01", codeParse, ""},
	{`{"jsonrpc":"2.0","id":1,"method":"a` + "\xff" + `"}`, codeParse, ""},
	{`{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`, codeParse, ""},
	{`{}{}`, codeParse, ""},
	{strings.Repeat("[", 100_000), codeParse, ""},
	{`null`, codeInvalidRequest, ""},
	{`7`, codeInvalidRequest, ""},
	{`"x"`, codeInvalidRequest, ""},
	{`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, codeInvalidRequest, ""},
	{`{}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"1.0","id":1,"method":"x"}`, codeInvalidRequest, "1"},
	{`{"id":"a","method":"x"}`, codeInvalidRequest, `"a"`},
	{`{"jsonrpc":"2.0","id":{},"method":"x"}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":[1],"method":"x"}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":true,"method":"x"}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"x"}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":1,"method":5}`, codeInvalidRequest, "1"},
	{`{"jsonrpc":"2.0","id":1,"method":null}`, codeInvalidRequest, "1"},
	{`{"jsonrpc":"2.0"}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":1}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","result":{}}`, codeInvalidRequest, ""},
	{`{"jsonrpc":"2.0","id":1,"method":"x"}`, 0, "1"},
	{`{"jsonrpc":"2.0","id":null,"method":"x"}`, 0, "null"},
	{`{"jsonrpc":"2.0","id":1.5e300,"method":"x","params":[{}],"more":1}`, 0, "1.5e300"},
	{`{"jsonrpc":"2.0","id":99999999999999999999,"method":""}`, 0, "99999999999999999999"},
	{`{"jsonrpc":"2.0","id":1,"result":null}`, 0, "1"},
	{`{"jsonrpc":"2.0","id":1,"error":"x"}`, 0, "1"},
	{`{"jsonrpc":"2.0","method":"x"}`, 0, ""},
}

func TestALineIsParsed(t *testing.T) {
	for _, k := range lines {
		f, bad := parse([]byte(k.line))
		require.Equal(t, k.id, string(f.id), "%.100s", k.line)
		if k.code == 0 {
			require.Nil(t, bad, "%.100s", k.line)
			continue
		}
		require.NotNil(t, bad, "%.100s", k.line)
		require.Equal(t, k.code, bad.Code, "%.100s", k.line)
	}
}

func FuzzParse(f *testing.F) {
	for _, k := range lines {
		if len(k.line) < 1000 {
			f.Add(k.line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, bad := parse([]byte(line))
		if bad == nil && m.response {
			require.True(t, (m.result == nil) != (m.err == nil))
		}
		require.True(t, m.id == nil || validID(m.id))
	})
}

// Lines end with a newline or the input. One above the bound is discarded whole.
func TestLinesAreRead(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader(" a \r\n\n"+strings.Repeat("x", maxLine+1)+"\nb"), 16)
	for _, want := range []struct {
		line string
		long bool
		err  error
	}{{"a", false, nil}, {"", false, nil}, {"", true, nil}, {"b", false, io.EOF}} {
		line, long, err := readLine(in)
		require.Equal(t, want.line, string(line))
		require.Equal(t, want.long, long)
		require.ErrorIs(t, err, want.err)
	}
}
