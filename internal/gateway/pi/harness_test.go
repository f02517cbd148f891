package pi

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/omp"
)

// played is a session whose commands the test plays.
type played func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error)

func (p played) ExecuteTo(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
	return p(ctx, command, to)
}

// echoes answers with the command, and writes it first.
func echoes(_ context.Context, command string, to io.Writer) (omp.BashResult, error) {
	_, err := io.WriteString(to, command)
	code := 0
	return omp.BashResult{Output: command, ExitCode: &code}, err
}

// holds runs until its end.
func holds(ctx context.Context, _ string, _ io.Writer) (omp.BashResult, error) {
	<-ctx.Done()
	return omp.BashResult{Cancelled: true}, nil
}

// client is one end of a conversation.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	read  *io.PipeReader
	end   context.CancelFunc // of the server
	ended chan error
}

// connects starts a server and reads that it is ready.
func connects(t *testing.T, s Session) *client {
	t.Helper()
	c := begins(t, s)
	require.Equal(t, `{"type":"ready"}`, c.line())
	return c
}

func begins(t *testing.T, s Session) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	c := &client{t: t, in: toIn, out: bufio.NewReader(fromOut), read: fromOut, end: cancel, ended: make(chan error, 1)}
	go func() {
		c.ended <- Serve(ctx, in, out, s)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_, _ = toIn.Close(), fromOut.Close()
	})
	return c
}

// says sends bytes.
func (c *client) says(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, text)
	require.NoError(c.t, err)
}

// line reads the next line.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(c.t, err, line)
	return strings.TrimSuffix(line, "\n")
}

// asks sends a line and reads the next one.
func (c *client) asks(line string) string {
	c.t.Helper()
	c.says(line + "\n")
	return c.line()
}

// leaves ends the input, reads what is left, and waits for the server.
func (c *client) leaves() string {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	rest, err := io.ReadAll(c.out)
	require.NoError(c.t, err)
	require.NoError(c.t, <-c.ended)
	return string(rest)
}
