package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/internal/dialect/omp"
)

type object = map[string]any

// heard is a message of the agent.
type heard struct {
	ID     any
	Method string
	Params object
	Result any
	Error  *rpcError
}

// played is a client whose lines a test writes.
type played struct {
	t       *testing.T
	in      *io.PipeWriter
	out     *io.PipeReader
	lines   chan heard
	done    chan error
	cancel  context.CancelFunc
	log     strings.Builder // of the agent
	last    int
	session string
}

// plays starts an agent and its client. In virtual time a client that hears nothing fails.
func plays(t *testing.T, open func(Place) (Session, error)) *played {
	t.Helper()
	agentIn, in := io.Pipe()
	out, agentOut := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &played{t: t, in: in, out: out, lines: make(chan heard, 1000), done: make(chan error, 1), cancel: cancel}
	o := Options{Open: open, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(&c.log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	go func() {
		c.done <- Serve(ctx, o, agentIn, agentOut)
		_ = agentIn.Close()
		_ = agentOut.Close()
	}()
	go func() {
		defer close(c.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var h heard
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				h.Method = "invalid line: " + lines.Text()
			}
			c.lines <- h
		}
	}()
	return c
}

// ends closes the input, and waits for the end of the agent.
func (c *played) ends() {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	require.NoError(c.t, <-c.done)
	for range c.lines { // what was not read
	}
	c.cancel()
}

func (c *played) line(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, text+"\n")
	require.NoError(c.t, err)
}

func (c *played) write(message object) {
	c.t.Helper()
	message["jsonrpc"] = "2.0"
	text, err := json.Marshal(message)
	require.NoError(c.t, err)
	c.line(string(text))
}

// hear reads the next message.
func (c *played) hear() heard {
	c.t.Helper()
	h, open := <-c.lines
	require.True(c.t, open, "the agent has ended")
	return h
}

// expect reads the next message, a request or notification.
func (c *played) expect(method string) heard {
	c.t.Helper()
	h := c.hear()
	require.Equal(c.t, method, h.Method, "%v", h)
	return h
}

// update reads the next update of a tool call.
func (c *played) update() object {
	c.t.Helper()
	h := c.expect("session/update")
	require.Equal(c.t, c.session, h.Params["sessionId"])
	return h.Params["update"].(object)
}

// result reads the updates of a command up to the last one.
func (c *played) result() object {
	c.t.Helper()
	for {
		if u := c.update(); u["status"] != nil {
			return u
		}
	}
}

func (c *played) reply(to heard, result any) {
	c.t.Helper()
	c.write(object{"id": to.ID, "result": result})
}

func (c *played) request(method string, params any) int {
	c.t.Helper()
	c.last++
	c.write(object{"id": c.last, "method": method, "params": params})
	return c.last
}

func (c *played) notify(method string, params any) {
	c.t.Helper()
	c.write(object{"method": method, "params": params})
}

// response reads the next message, the response to a request.
func (c *played) response(id int) heard {
	c.t.Helper()
	h := c.hear()
	require.Empty(c.t, h.Method, "%v", h)
	require.EqualValues(c.t, id, h.ID)
	return h
}

func (c *played) ask(method string, params any) heard {
	c.t.Helper()
	return c.response(c.request(method, params))
}

// begins initializes the connection and opens a session.
func (c *played) begins(terminal bool) {
	c.t.Helper()
	c.ask("initialize", object{"protocolVersion": 1, "clientCapabilities": object{"terminal": terminal}})
	c.session = c.opens()
}

func (c *played) opens() string {
	c.t.Helper()
	h := c.ask("session/new", object{"cwd": c.t.TempDir(), "mcpServers": []any{}})
	require.Nil(c.t, h.Error)
	return h.Result.(object)["sessionId"].(string)
}

func (c *played) prompts(text string) int {
	c.t.Helper()
	return c.request("session/prompt", object{"sessionId": c.session, "prompt": []any{object{"type": "text", "text": text}}})
}

func (c *played) cancels() { c.notify("session/cancel", object{"sessionId": c.session}) }

// stopped checks the response to a prompt.
func (c *played) stopped(id int, reason string) {
	c.t.Helper()
	require.Equal(c.t, object{"stopReason": reason}, c.response(id).Result)
}

// remotely runs a test in virtual time with a client that has terminals. The sessions have no
// host: a job would end the test.
func remotely(t *testing.T, test func(t *testing.T, c *played), changes ...func(*omp.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		c := plays(t, func(at Place) (Session, error) {
			o := omp.Options{
				Beside: &beside, FS: disk.Files{}, Dir: at.Dir, Home: "/nowhere", SessionID: at.ID, Settings: omp.DefaultSettings(), Client: at.Client,
				Env: []string{"PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash", "HOME=/nowhere"},
			}
			for _, change := range changes {
				change(&o)
			}
			return omp.New(o), nil
		})
		c.begins(true)
		test(t, c)
		c.ends()
		beside.Wait()
	})
}

// created replies to the creation of a terminal, and reads the tool call.
func (c *played) created(id string) {
	c.t.Helper()
	c.reply(c.expect("terminal/create"), object{"terminalId": id})
	require.Equal(c.t, "tool_call", c.update()["sessionUpdate"])
}

// script is a session whose commands a test plays.
type script func(ctx context.Context, command string, update func(dialect.Result)) (dialect.Result, error)

func (s script) Bash(ctx context.Context, p omp.Params, update func(dialect.Result)) (dialect.Result, error) {
	return s(ctx, p.Command, update)
}

func (s script) Close(context.Context) error { return nil }

// acted opens sessions that play a script.
func acted(s script) func(Place) (Session, error) {
	return func(Place) (Session, error) { return s, nil }
}
