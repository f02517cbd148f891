package node_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/keeper"
	"troupe/internal/journal"
	"troupe/internal/limits"
	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill"
)

// keptLogs are those that a keeper holds.
type keptLogs struct{ client *keeper.Client }

func (k keptLogs) Open(id string, stream uint8) (spill.Log, error) {
	return k.client.Open(messages.UID(id), messages.Stream(stream))
}

func (k keptLogs) Remove(id string) error {
	k.client.Remove(messages.UID(id))
	return nil
}

// openDaemon opens a node as a daemon does: over a keeper and a journal.
func openDaemon(ctx context.Context, state string) (*node.Node, *journal.Bolt, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	j, err := journal.OpenBolt(filepath.Join(state, "journal"), journal.BoltOptions{})
	if err != nil {
		return nil, nil, err
	}
	client, err := keeper.Open(ctx, keeper.ClientOptions{
		Dir: filepath.Join(state, "keeper"), Build: "test", Program: []string{program, "keeper-role"},
		Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"},
	})
	if err != nil {
		return nil, nil, err
	}
	node, err := node.Open(ctx, node.Options{Engine: client, Logs: keptLogs{client}, Journal: j, WorkDir: "/"})
	return node, j, err
}

// mainOfADaemon plays a keeper, or a daemon that starts jobs, says so and waits to be killed.
func mainOfADaemon(args []string) (code int, ours bool) {
	if len(args) < 2 || args[0] != "keeper-role" && args[0] != "daemon-role" {
		return 0, false
	}
	if args[0] == "daemon-role" {
		if err := playDaemon(args[1]); err != nil {
			fmt.Println("failed:", err)
			return 1, true
		}
		return 0, true
	}
	dir, fd := "", -1
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--dir":
			dir = args[i+1]
		case "--fd":
			fd, _ = strconv.Atoi(args[i+1])
		}
	}
	if err := keeper.Main(dir, fd, "test", false, false, limits.Given{}); err != nil {
		return 1, true
	}
	return 0, true
}

// toRun are the jobs of the daemon: over, in the background, in the foreground.
var toRun = []messages.RunCommand{
	{Program: messages.Program{Text: "echo before; exit 3"}, Key: "k"},
	{Scope: "a/b", Session: "s", Labels: messages.Labels{Name: "lives"}, Program: messages.Program{Text: "read line; echo got $line; exit 7"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync},
	{Labels: messages.Labels{Name: "ends"}, Program: messages.Program{Text: "read line < \"$GATE\"; echo late; exit 5"}, Mode: messages.ModeAsync},
	{Labels: messages.Labels{Name: "owned"}, Program: messages.Program{Text: "sleep 1000"}},
}

func playDaemon(state string) error {
	ctx := context.Background()
	node, _, err := openDaemon(ctx, state)
	if err != nil {
		return err
	}
	if _, err := node.Ask(ctx, messages.OpenScope{Path: "a/b", Quota: messages.ScopeQuota{Jobs: 1}}); err != nil {
		return err
	}
	events, err := node.Subscribe(ctx, messages.Subscribe{Channel: "reader"})
	if err != nil {
		return err
	}
	for _, r := range toRun {
		r.Env.Set = []string{"GATE=" + filepath.Join(state, "gate")}
		if r.Name == "owned" {
			node.Submit(r)
			break
		}
		if _, err := node.Run(ctx, r); err != nil {
			return err
		}
	}
	for {
		what, err := events.Next(ctx)
		if err != nil {
			return err
		}
		n, ok := what.(messages.Notification)
		if !ok {
			continue
		}
		if fact, ok := n.Fact.(messages.CommandStarted); ok && fact.Job.Name == "owned" {
			fmt.Println("ready", n.Seq)
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		}
	}
}

// A daemon is killed by SIGKILL. The next one has its jobs, their outputs and
// their results, its keys, quotas and ids, and its subscribers go on where they were.
func TestDaemonIsKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.MkdirAll(filepath.Join(state, "keeper"), 0o700))
	gate := filepath.Join(state, "gate")
	require.NoError(t, exec.Command("mkfifo", gate).Run())
	program, err := os.Executable()
	require.NoError(t, err)
	daemon := exec.CommandContext(ctx, program, "daemon-role", state)
	_, err = daemon.StdinPipe()
	require.NoError(t, err)
	said, err := daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	line, _ := bufio.NewReader(said).ReadString('\n')
	require.True(t, strings.HasPrefix(line, "ready"), line)
	require.NoError(t, daemon.Process.Kill())
	_ = daemon.Wait()
	require.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600)) // one ends while no daemon runs

	begun := time.Now()
	node, j, err := openDaemon(ctx, state)
	require.NoError(t, err)
	t.Logf("it began again within %s", time.Since(begun))
	reply, err := node.Ask(ctx, messages.WaitJobs{Jobs: []messages.JobID{"ends", "owned"}})
	require.NoError(t, err)
	require.IsType(t, messages.WaitEnded{}, reply)
	for name, shell := range map[string]int{"j1": 3, "ends": 5} {
		job, err := node.Job(ctx, messages.JobID(name))
		require.NoError(t, err)
		require.Equal(t, messages.Exited, job.End.Outcome, name)
		require.Equal(t, shell, job.End.Shell(), name)
	}
	owned, err := node.Job(ctx, "owned")
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, owned.End.Outcome)
	require.Equal(t, messages.BySystem, owned.End.Cause.By)
	require.Contains(t, owned.Flags, messages.FlagClientGone)

	read := func(job messages.JobID) string {
		page, err := node.Ask(ctx, messages.ReadOutput{Job: job, View: messages.View{Kind: messages.ViewTail}})
		require.NoError(t, err)
		require.IsType(t, messages.OutputPage{}, page, "%+v", page)
		return page.(messages.OutputPage).Text
	}
	require.Equal(t, "before\n", read("j1"))
	require.Equal(t, "late\n", read("ends"))

	lives, err := node.Job(ctx, "lives")
	require.NoError(t, err)
	require.Equal(t, messages.Running, lives.State)
	refused, err := node.Ask(ctx, messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "true"}})
	require.NoError(t, err)
	require.IsType(t, messages.CommandRejected{}, refused)
	_, err = node.Ask(ctx, messages.WriteInput{Job: "lives", Data: []byte("it\n")})
	require.NoError(t, err)
	_, err = node.Ask(ctx, messages.WaitJobs{Jobs: []messages.JobID{"lives"}})
	require.NoError(t, err)
	require.Equal(t, "got it\n", read("lives"))

	keyed := toRun[0]
	keyed.Env.Set = []string{"GATE=" + gate}
	again, err := node.Run(ctx, keyed)
	require.NoError(t, err)
	require.Equal(t, messages.JobID("j1"), again.ID)
	next, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "exit 9"}})
	require.NoError(t, err)
	require.Equal(t, messages.JobID("j6"), next.ID)

	ends := map[messages.JobID]int{}
	events, err := node.Subscribe(ctx, messages.Subscribe{Channel: "reader", Resume: true})
	require.NoError(t, err)
	last := messages.Seq(0)
	for ends["j6"] == 0 {
		what, err := events.Next(ctx)
		require.NoError(t, err)
		n, ok := what.(messages.Notification)
		require.True(t, ok)
		require.Greater(t, n.Seq, last)
		last = n.Seq
		if fact, ok := n.Fact.(messages.CommandFinished); ok {
			ends[fact.Job.ID]++
		}
	}
	for _, id := range []messages.JobID{"j2", "j3", "j4", "j6"} {
		require.Equal(t, 1, ends[id], id)
	}
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	require.NoError(t, j.Close())
}
