package pi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/omp"
)

func TestR146_TheFirstRecordSaysReady(t *testing.T) {
	t.Parallel()
	c := begins(t, played(echoes))
	require.Equal(t, `{"type":"ready"}`, c.line())
	require.Empty(t, c.leaves())
}

func TestR147_ResponsesHaveTheirShapes(t *testing.T) {
	t.Parallel()
	c := connects(t, played(func(_ context.Context, command string, to io.Writer) (omp.BashResult, error) {
		if command == "fails" {
			return omp.BashResult{}, errors.New("it cannot start")
		}
		return echoes(context.Background(), command, to)
	}))
	require.Equal(t, `{"type":"bash_execution_update","id":"req_1","delta":"a <b> & \u2028\n"}`, c.asks(`{"id":"req_1","type":"bash","command":"a <b> & \u2028\n"}`))
	require.Equal(t, `{"id":"req_1","type":"response","command":"bash","success":true,"data":{"output":"a <b> & \u2028\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}`, c.line())
	require.Equal(t, `{"type":"bash_execution_update","delta":"x"}`, c.asks(`{"type":"bash","command":"x","excludeFromContext":true,"more":1}`))
	require.Contains(t, c.line(), `{"type":"response","command":"bash","success":true,"data":{`)
	require.Equal(t, `{"id":"req_3","type":"response","command":"bash","success":false,"error":"it cannot start"}`, c.asks(`{"id":"req_3","type":"bash","command":"fails","excludeFromContext":null}`))
	require.Equal(t, `{"id":"req_4","type":"response","command":"abort_bash","success":true}`, c.asks(`{"type":"abort_bash","id":"req_4"}`))
	require.Equal(t, `{"type":"response","command":"abort_bash","success":true}`, c.asks(`{"type":"abort_bash"}`))
	require.Empty(t, c.leaves())
}

// pi 1.6 repeats the id of a request with an unknown type, which the requirement did not know:
// its client then rejects at once, and not after 30 s.
func TestR149_AnUnknownTypeIsNamed(t *testing.T) {
	t.Parallel()
	c := connects(t, played(echoes))
	require.Equal(t, `{"id":"test","type":"response","command":"foobar","success":false,"error":"unknown command \"foobar\": use bash or abort_bash"}`, c.asks(`{"id":"test","type":"foobar"}`))
	require.Equal(t, `{"type":"response","command":"parse","success":false,"error":"the line is not JSON: unexpected end of JSON input"}`, c.asks(`{"id":"test","type":"bash"`))
	require.Empty(t, c.leaves())
}

// A request that aborts is answered while a command runs. Every command before it ends, however
// soon it comes, and none after it.
func TestR150_RequestsRunSideBySide(t *testing.T) {
	t.Parallel()
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		if command == "echo" {
			return echoes(ctx, command, to)
		}
		return holds(ctx, command, to)
	}))
	c.says(`{"id":"1","type":"bash","command":"sleep"}` + "\n")
	require.Contains(t, c.asks(`{"id":"2","type":"bash","command":"echo"}`), `"id":"2","delta":"echo"`)
	require.Contains(t, c.line(), `{"id":"2","type":"response"`)
	c.says(`{"id":"a","type":"abort_bash"}` + "\n")
	require.Equal(t, 2, strings.Count(c.line()+c.line(), `"success":true`))
	for range 100 {
		c.says(`{"id":"1","type":"bash","command":"sleep"}` + "\n" + `{"id":"a","type":"abort_bash"}` + "\n" + `{"id":"2","type":"bash","command":"echo"}` + "\n")
		all := strings.Join([]string{c.line(), c.line(), c.line(), c.line()}, "\n")
		require.Contains(t, all, `{"id":"a","type":"response","command":"abort_bash","success":true}`)
		require.Contains(t, all, `{"id":"1","type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true`)
		require.Contains(t, all, `{"id":"2","type":"response","command":"bash","success":true,"data":{"output":"echo","exitCode":0`)
	}
	require.Empty(t, c.leaves())
}

func TestR152_AbortEndsAllCommandsOrNone(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		up <- struct{}{}
		return holds(ctx, command, to)
	}))
	require.Contains(t, c.asks(`{"id":"0","type":"abort_bash"}`), `"success":true`)
	for i := range 5 {
		c.says(fmt.Sprintf(`{"id":"%d","type":"bash","command":"sleep"}`, i) + "\n")
		<-up
	}
	c.says(`{"id":"a","type":"abort_bash"}` + "\n")
	ended := 0
	for range 6 {
		ended += strings.Count(c.line(), `"cancelled":true`)
	}
	require.Equal(t, 5, ended)
	require.Empty(t, c.leaves())
}

func TestR155_TheEndOfInputAnswersWhatRuns(t *testing.T) {
	t.Parallel()
	goes := make(chan struct{})
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		<-goes
		return echoes(ctx, command, to)
	}))
	c.says(`{"id":"1","type":"bash","command":"x"}` + "\n" + `{"id":"2","type":"bash","command":"y"}`) // without its end
	require.NoError(t, c.in.Close())
	close(goes)
	rest, err := io.ReadAll(c.out)
	require.NoError(t, err)
	require.NoError(t, <-c.ended)
	require.Equal(t, 2, strings.Count(string(rest), `"success":true`))
}

// A client that reads nothing holds one piece of an output, and gets all of it and the result
// when it reads. What another request asks for happens meanwhile.
func TestASlowClientLosesNothing(t *testing.T) {
	t.Parallel()
	const pieces = 1000
	var written, aborted sync.WaitGroup
	written.Add(2)
	aborted.Add(1)
	var n int
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		if command == "hold" {
			defer aborted.Done()
			return holds(ctx, command, to)
		}
		for n = range pieces {
			if n < 2 {
				written.Done()
			}
			if _, err := fmt.Fprintf(to, "%d\n", n); err != nil {
				return omp.BashResult{}, err
			}
		}
		return omp.BashResult{Output: "the end"}, nil
	}))
	c.says(`{"id":"1","type":"bash","command":"hold"}` + "\n" + `{"id":"2","type":"bash","command":"write"}` + "\n")
	written.Wait()
	c.says(`{"id":"3","type":"abort_bash"}` + "\n")
	aborted.Wait() // though nothing is read
	require.Less(t, n, 5, "pieces that are not read are not made")
	next, responses := 0, 0
	for responses < 3 {
		var record struct {
			Type, Delta string
			Data        struct{ Output string }
		}
		require.NoError(t, json.Unmarshal([]byte(c.line()), &record))
		if record.Type == typeResponse {
			responses++
			continue
		}
		require.Equal(t, fmt.Sprintln(next), record.Delta)
		next++
	}
	require.Equal(t, pieces, next)
	require.Empty(t, c.leaves())
}

// The server ends with its context, even if its client neither sends nor reads.
func TestTheServerEndsWithoutItsClient(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	c := connects(t, played(func(ctx context.Context, _ string, to io.Writer) (omp.BashResult, error) {
		close(up)
		for {
			if _, err := io.WriteString(to, "more"); err != nil {
				<-ctx.Done()
				return omp.BashResult{}, err
			}
		}
	}))
	c.says(`{"id":"1","type":"bash","command":"yes"}` + "\n")
	<-up
	c.end()
	require.ErrorIs(t, <-c.ended, context.Canceled)
}

// A client that cannot be written to has left: its commands end.
func TestAClientThatIsGoneEndsItsCommands(t *testing.T) {
	t.Parallel()
	up := make(chan struct{}, 2)
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		up <- struct{}{}
		if command == "hold" {
			return holds(ctx, command, to)
		}
		_, err := io.WriteString(to, command)
		return omp.BashResult{}, err
	}))
	c.says(`{"id":"1","type":"bash","command":"hold"}` + "\n")
	<-up
	require.NoError(t, c.read.Close())
	c.says(`{"id":"2","type":"bash","command":"write"}` + "\n")
	require.ErrorIs(t, <-c.ended, io.ErrClosedPipe)
}

// An input that breaks ends the server, which answers first.
func TestABrokenInputEndsTheServer(t *testing.T) {
	t.Parallel()
	c := connects(t, played(echoes))
	c.says(`{"type":"bash","command":"x"}` + "\n")
	broken := errors.New("broken")
	require.NoError(t, c.in.CloseWithError(broken))
	rest, err := io.ReadAll(c.out)
	require.NoError(t, err)
	require.Contains(t, string(rest), `"success":true`)
	require.ErrorIs(t, <-c.ended, broken)
}
