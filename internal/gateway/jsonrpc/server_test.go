package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever a client sends gets the error of the protocol, and the server serves on.
func TestBadInputJSONRPC(t *testing.T) {
	t.Parallel()
	p := serves(t, map[string]Handler{"echo": echo, "fails": func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("it fails") }})
	for _, c := range []struct{ says, hears string }{
		{`{"jsonrpc":"2.0","id":"a","method":"echo","params":{"x":1}}`, `{"jsonrpc":"2.0","id":"a","result":{"x":1}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"echo"}`, `{"jsonrpc":"2.0","id":7,"result":null}`},
		{`{"jsonrpc":"2.0","id":-1.50e3,"method":"echo","params":["<"]}`, `{"jsonrpc":"2.0","id":-1.50e3,"result":["<"]}`},
		{`{"jsonrpc":"2.0","id":12345678901234567890123,"method":"echo"}`, `{"jsonrpc":"2.0","id":12345678901234567890123,"result":null}`},
		{`{"jsonrpc":"2.0","id":null,"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"result":null}`},
		{`{"jsonrpc":"2.0","id":"\u00e9\n","method":"echo","params":null}`, `{"jsonrpc":"2.0","id":"\u00e9\n","result":null}`},
		{`  {"jsonrpc":"2.0","id":"","method":"echo"}  ` + "\r", `{"jsonrpc":"2.0","id":"","result":null}`},
		{`{"jsonrpc":"2.0","id":1,"method":"echo","extra":true}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{`{"jsonrpc":"2.0","id":1,"method":"fails"}`, `"id":1,"error":{"code":-32000,"message":"it fails"}`},
		{`nonsense`, `"id":null,"error":{"code":-32700,`},
		{`{"jsonrpc":"2.0","id":1,"method":"echo"`, `"id":null,"error":{"code":-32700,`},
		{`{"jsonrpc":"2.0","id":1,"method":"echo"} {}`, `"id":null,"error":{"code":-32700,`},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"id":null,"error":{"code":-32700,`},
		{strings.Repeat("[", 20_000), `"id":null,"error":{"code":-32700,`},
		{`7`, `"id":null,"error":{"code":-32600,`},
		{`null`, `"id":null,"error":{"code":-32600,`},
		{`"text"`, `"id":null,"error":{"code":-32600,`},
		{`{}`, `"id":null,"error":{"code":-32600,`},
		{`{"id":"a","method":"echo"}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"1.0","id":"a","method":"echo"}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":2.0,"id":"a","method":"echo"}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a"}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":7}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":null}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":{},"method":"echo"}`, `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":true,"method":"echo"}`, `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":[1],"method":"echo"}`, `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":"echo","params":"x"}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":"echo","params":7}`, `"id":"a","error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":""}`, `"id":"a","error":{"code":-32601,`},
		{`{"jsonrpc":"2.0","id":"a","method":"Echo"}`, `"id":"a","error":{"code":-32601,"message":"unknown method \"Echo\""`},
		{`{"jsonrpc":"2.0","id":"a","method":"` + strings.Repeat("m", 5000) + `"}`, strings.Repeat("m", shownBytes) + `\""`},
		{`{"jsonrpc":"2.0","method":7}`, `"id":null,"error":{"code":-32600,`},
		{`[]`, `"id":null,"error":{"code":-32600,`},
		{`[` + strings.Repeat(`1,`, maxBatch) + `1]`, `"id":null,"error":{"code":-32600,`},
		{`[1,{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		// No response: notifications, responses to nothing, blank lines.
		{`{"jsonrpc":"2.0","method":"echo"}`, ""},
		{`{"jsonrpc":"2.0","method":"unknown"}`, ""},
		{`{"jsonrpc":"2.0","id":"a","result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"error":"x"}`, ""},
		{`{"jsonrpc":"2.0","result":1}`, ""},
		{`[{"jsonrpc":"2.0","method":"echo"}]`, ""},
		{"", ""},
	} {
		p.says(c.says)
		if c.hears == "" {
			p.says(`{"jsonrpc":"2.0","id":"next","method":"echo"}`)
			c.hears = `{"jsonrpc":"2.0","id":"next","result":null}`
		}
		heard := p.line()
		require.Contains(t, heard, c.hears, "to %.200q", c.says)
		require.True(t, json.Valid([]byte(heard)), heard)
		require.Less(t, len(heard), 400)
	}
}

// Each of a batch has its response, in one line.
func TestABatchIsAnsweredInOneLine(t *testing.T) {
	t.Parallel()
	p := serves(t, map[string]Handler{"echo": echo})
	p.says(`[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","id":"2","method":"none"},7,{"jsonrpc":"2.0","id":"x","result":1}]`)
	var all []failure
	require.NoError(t, json.Unmarshal([]byte(p.line()), &all))
	require.Len(t, all, 3)
	ids := map[string]int{}
	for _, r := range all {
		ids[string(r.ID)] = 0
		if r.Error != nil {
			ids[string(r.ID)] = r.Error.Code
		}
	}
	require.Equal(t, map[string]int{"1": 0, `"2"`: CodeNoMethod, "null": CodeInvalidRequest}, ids)
	require.Zero(t, p.server.places)
}

// A line above the limit is refused as soon as that is known, and one below it is not.
func TestBadInputLongJSONRPCLines(t *testing.T) {
	t.Parallel()
	p := serves(t, map[string]Handler{"echo": func(context.Context, json.RawMessage) (any, error) { return true, nil }})
	long := strings.Repeat("x", MaxLine)
	go func() { _, _ = io.WriteString(p.conn, `{"jsonrpc":"2.0","id":"`+long+long[:readBuffer]) }()
	require.Contains(t, p.line(), fmt.Sprintf(`"id":null,"error":{"code":-32600,"message":"the line has more than %d bytes"}`, MaxLine), "its end has not come")
	head, tail := `{"jsonrpc":"2.0","id":"a","method":"echo","params":["`, `"]}`
	p.says(`"}`, head+long[:MaxLine-len(head)-len(tail)-1]+tail)
	require.Equal(t, `{"jsonrpc":"2.0","id":"a","result":true}`, p.line())
	p.says(`{"jsonrpc":"2.0","id":"b","method":"echo"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"b","result":true}`, p.line())
}

// Lines are read the same however they arrive, and a last line needs no end.
func TestLinesAreReadHoweverTheyArrive(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 7, readBuffer} {
		r := newLineReader(&dripping{[]byte("a\n\n  b \r\n" + strings.Repeat("c", readBuffer+1) + "\nlast"), size})
		var lines []string
		var err error
		for err == nil {
			var line []byte
			line, _, err = r.next()
			lines = append(lines, string(line))
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, []string{"a", "", "b", strings.Repeat("c", readBuffer+1), "last"}, lines)
	}
}

// dripping is a reader that gives a few bytes at a time.
type dripping struct {
	text []byte
	size int
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.text[:min(d.size, len(d.text))])
	d.text = d.text[n:]
	return n, nil
}

// gated is a method that waits for the test.
type gated struct{ begun, open chan struct{} }

func newGated() *gated { return &gated{make(chan struct{}, 10*maxRunning), make(chan struct{})} }

func (g *gated) wait(ctx context.Context, _ json.RawMessage) (any, error) {
	g.begun <- struct{}{}
	select {
	case <-g.open:
		return "waited", nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Requests run concurrently: a long one does not hold up another. More than the limit are
// refused, and each has one response.
func TestRequestsRunConcurrentlyWithinALimit(t *testing.T) {
	t.Parallel()
	g := newGated()
	p := serves(t, map[string]Handler{"wait": g.wait, "echo": echo})
	for i := range maxRunning - 1 {
		p.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"wait"}`, i))
		<-g.begun
	}
	require.Equal(t, `{"jsonrpc":"2.0","id":"quick","result":null}`, p.says(`{"jsonrpc":"2.0","id":"quick","method":"echo"}`).line())
	p.says(`{"jsonrpc":"2.0","id":"last","method":"wait"}`)
	<-g.begun
	p.says(`{"jsonrpc":"2.0","id":"more","method":"wait"}`)
	require.Contains(t, p.line(), `"id":"more","error":{"code":-32001,"message":"256 requests, or 67108864 bytes of them, are the most at a time`)
	close(g.open)
	for range maxRunning {
		require.Contains(t, p.line(), `"result":"waited"`)
	}
	p.says(`{"jsonrpc":"2.0","id":"then","method":"wait"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"then","result":"waited"}`, p.line())
}

// The bytes of the requests that run are bounded, too.
func TestLargeRequestsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	g := newGated()
	p := serves(t, map[string]Handler{"wait": g.wait})
	request := `{"jsonrpc":"2.0","id":1,"method":"wait"}`
	require.True(t, p.server.enter(maxHeld-2*len(request)), "of other requests")
	for range 2 {
		p.says(request)
		<-g.begun
	}
	require.Contains(t, p.says(request).line(), `"code":-32001`)
	p.server.forget(maxHeld - 2*len(request))
	p.says(request)
	<-g.begun
	close(g.open)
	for range 3 {
		require.Contains(t, p.line(), `"waited"`)
	}
	require.Zero(t, p.server.held)
}

// At the end of the input the requests that run are answered first.
func TestRequestsAreAnsweredAtTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	g := newGated()
	var out lines
	s := New(&out, Options{Methods: map[string]Handler{"wait": g.wait, "echo": echo}})
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"echo"}`))
	}()
	<-g.begun
	close(g.open)
	require.NoError(t, <-served)
	require.ElementsMatch(t, []string{`{"jsonrpc":"2.0","id":1,"result":"waited"}`, `{"jsonrpc":"2.0","id":2,"result":null}`}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

// lines collects what one writer writes.
type lines struct{ bytes.Buffer }

// Requests are cancelled when the server has to end, when a write fails, and when the client
// has gone after its input has ended.
func TestRequestsEndWithTheClientOrTheServer(t *testing.T) {
	t.Parallel()
	t.Run("the server", func(t *testing.T) {
		t.Parallel()
		g := newGated()
		p := serves(t, map[string]Handler{"wait": g.wait})
		p.says(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
		<-g.begun
		p.stop()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the server ends, and with it this request"}}`, p.line())
		require.NoError(t, <-p.served)
	})
	t.Run("a write", func(t *testing.T) {
		t.Parallel()
		g := newGated()
		in, lines := io.Pipe()
		out, theirs := io.Pipe()
		require.NoError(t, out.Close())
		s := New(theirs, Options{Methods: map[string]Handler{"wait": g.wait, "echo": echo}})
		served := make(chan error, 1)
		go func() { served <- s.Serve(context.Background(), in) }()
		_, err := io.WriteString(lines, `{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n")
		require.NoError(t, err)
		<-g.begun
		_, err = io.WriteString(lines, `{"jsonrpc":"2.0","id":2,"method":"echo"}`+"\n")
		require.NoError(t, err)
		require.NoError(t, <-served, "the first one was cancelled, else it would wait")
		_ = in.Close()
	})
	t.Run("the client", func(t *testing.T) {
		t.Parallel()
		g := newGated()
		ctx, leaves := context.WithCancel(context.Background())
		s := New(&lines{}, Options{Methods: map[string]Handler{"wait": g.wait}})
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(ctx, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"wait"}`))
		}()
		<-g.begun
		leaves()
		require.NoError(t, <-served)
	})
}

// blocked is a writer that takes nothing until it is released.
type blocked struct{ release chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.release
	return len(p), nil
}

// A client that reads nothing blocks its own requests alone: so many run as the limit says, and
// no more lines are read. It does not keep the server from ending.
func TestAClientThatReadsNothingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		ctx, cancel := context.WithCancel(t.Context())
		in, lines := io.Pipe()
		b := blocked{make(chan struct{})}
		s := New(b, Options{Methods: map[string]Handler{"echo": echo}})
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, in) }()
		go func() {
			for ; ; ran++ {
				if _, err := fmt.Fprintln(lines, `{"jsonrpc":"2.0","id":1,"method":"echo"}`); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		require.Less(t, ran, maxRunning+5, "one is written, one is refused, and the pipe has none")
		require.GreaterOrEqual(t, ran, maxRunning)
		began := time.Now()
		cancel()
		require.NoError(t, <-served)
		require.Equal(t, flushPatience, time.Since(began))
		close(b.release)
		_ = in.Close()
	})
}

// A batch keeps the places of its requests until it is answered: its responses take memory.
func TestABatchKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	g := newGated()
	p := serves(t, map[string]Handler{"wait": g.wait, "echo": echo})
	p.says(`[{"jsonrpc":"2.0","id":0,"method":"wait"}` + strings.Repeat(`,{"jsonrpc":"2.0","id":1,"method":"echo"}`, maxRunning-1) + `]`)
	<-g.begun
	p.says(`{"jsonrpc":"2.0","id":"more","method":"echo"}`)
	require.Contains(t, p.line(), `"id":"more","error":{"code":-32001`)
	close(g.open)
	require.Equal(t, maxRunning, strings.Count(p.line(), `"result"`))
	require.Contains(t, p.says(`{"jsonrpc":"2.0","id":"then","method":"echo"}`).line(), `"result":null`)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":null,"error":3}]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return
		}
		all, _, bad := parse(line)
		if (bad == nil) != (len(all) > 0) {
			t.Fatalf("%q: %v %v", line, all, bad)
		}
		for _, m := range all {
			if r := respond(m.id, true, m.bad)(); !json.Valid(r) {
				t.Fatalf("%q gets %q", line, r)
			}
		}
	})
}
