//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ourAgent runs one command after the other as an agent does: with the tool run of
// "troupe mcp" over stdio and a full daemon. It reads and writes lines itself, so that
// an SDK's time does not count.
type ourAgent struct {
	*program
	serve *exec.Cmd
	to    io.WriteCloser
	from  *bufio.Reader
	calls int // requests so far
	n     int
}

// newOurAgent builds troupe, since an agent has the program and not its packages.
func newOurAgent(ctx context.Context, e assignment) (runner, error) {
	p, err := buildProgram(ctx, filepath.Join(e.Dir, "agent"))
	if err != nil {
		return nil, err
	}
	a := &ourAgent{program: p, n: e.Size.Commands}
	return a, a.connect()
}

func (a *ourAgent) connect() error {
	a.serve = a.command("mcp")
	a.serve.Stderr = os.Stderr
	to, err := a.serve.StdinPipe()
	if err != nil {
		return err
	}
	from, err := a.serve.StdoutPipe()
	if err != nil {
		return err
	}
	if err := a.serve.Start(); err != nil {
		return err
	}
	a.to, a.from = to, bufio.NewReader(from)
	if _, err := a.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

// toolResult is the part of a result that is checked.
type toolResult struct {
	IsError bool `json:"isError"`
	Meta    struct {
		Details struct {
			Outcome string `json:"outcome"`
		} `json:"troupe/details"`
	} `json:"_meta"`
}

// ask sends a request and waits for its response.
func (a *ourAgent) ask(method, params string) (toolResult, error) {
	a.calls++
	var reply struct {
		ID     int             `json:"id"`
		Error  json.RawMessage `json:"error"`
		Result toolResult      `json:"result"`
	}
	if _, err := fmt.Fprintf(a.to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.calls, method, params); err != nil {
		return reply.Result, err
	}
	for reply.ID != a.calls { // earlier messages are notifications
		line, err := a.from.ReadBytes('\n')
		if err != nil {
			return reply.Result, err
		}
		if err := json.Unmarshal(line, &reply); err != nil {
			return reply.Result, err
		}
	}
	if reply.Error != nil {
		return reply.Result, fmt.Errorf("%s was answered %s", method, reply.Error)
	}
	return reply.Result, nil
}

func (a *ourAgent) round(context.Context) (values, error) {
	times := make([]time.Duration, 0, a.n)
	call := fmt.Sprintf(`{"name":"run","arguments":{"command":%q}}`, nothing)
	for range a.n {
		start := time.Now()
		result, err := a.ask("tools/call", call)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		if result.IsError || result.Meta.Details.Outcome != "exited" {
			return nil, fmt.Errorf("the tool answered %+v", result)
		}
	}
	return values{"p50": float64(percentile(times, 0.50)) / float64(time.Microsecond)}, nil
}

// close also ends the daemon that the agent's server has started.
func (a *ourAgent) close() error {
	var err error
	if a.serve != nil && a.serve.Process != nil {
		err = errors.Join(a.to.Close(), a.serve.Wait())
	}
	return errors.Join(err, a.endDaemon())
}
