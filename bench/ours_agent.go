//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ourAgent runs one command after the other as an agent does: by the tool run of
// "troupe mcp" over stdio, with a daemon that has all.
type ourAgent struct {
	troupe  string
	env     []string
	session *mcp.ClientSession
	n       int
}

// newOurAgent builds troupe, since an agent has the program and not its packages.
func newOurAgent(ctx context.Context, e errand) (runner, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, lacking{"there is no go to build troupe with"}
	}
	dir := filepath.Join(e.Dir, "agent")
	a := &ourAgent{troupe: filepath.Join(dir, "troupe"), n: e.Size.Commands}
	for name, value := range map[string]string{"HOME": "", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"} {
		value = filepath.Join(dir, value)
		if err := os.MkdirAll(value, 0o700); err != nil {
			return nil, err
		}
		a.env = append(a.env, name+"="+value)
	}
	a.env = append(a.env, "PATH="+os.Getenv("PATH"))
	if said, err := exec.CommandContext(ctx, "go", "build", "-o", a.troupe, "troupe/cmd/troupe").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("troupe cannot be built: %w\n%s", err, said)
	}
	serve := exec.Command(a.troupe, "mcp")
	serve.Env = a.env
	var err error
	a.session, err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(ctx, &mcp.CommandTransport{Command: serve}, nil)
	return a, err
}

func (a *ourAgent) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, a.n)
	call := &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"command": nothing}}
	for range a.n {
		start := time.Now()
		result, err := a.session.CallTool(ctx, call)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		if shown, _ := result.StructuredContent.(map[string]any); result.IsError || shown["outcome"] != "exited" {
			return nil, fmt.Errorf("the tool answered %v", result.Content)
		}
	}
	return values{"p50": float64(percentile(times, 0.50)) / float64(time.Microsecond)}, nil
}

// close ends the daemon, too, which the server of the agent has started.
func (a *ourAgent) close() error {
	var err error
	if a.session != nil {
		err = a.session.Close()
	}
	end := exec.Command(a.troupe, "shutdown", "--stop-jobs")
	end.Env = a.env
	return errors.Join(err, end.Run())
}
