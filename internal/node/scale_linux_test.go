package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"troupe/actors"
	"troupe/internal/node"
	"troupe/internal/test/conformance"
	"troupe/internal/test/hostile"
	"troupe/internal/test/need"
	"troupe/messages"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	if code, ours := mainOfADaemon(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// hostVar says what the process of a run is to its node. A run is alone in its
// process, so that what it counts is its own.
const hostVar = "TROUPE_TEST_HOST"

// host is a kind of process that a node may live in.
type host struct {
	name     string
	own      bool // Options.OwnProcess
	nocgroup bool
	ordinary bool // not root
	holds    messages.Isolation
}

var hosts = []host{
	{name: "library", holds: messages.InCgroup},
	{name: "own", own: true, holds: messages.InCgroup},
	{name: "own without cgroups", own: true, nocgroup: true, holds: messages.Subreaper},
	{name: "library of an ordinary user", ordinary: true, holds: messages.Group},
	{name: "own of an ordinary user", own: true, ordinary: true, holds: messages.Subreaper},
}

// inHosts runs body in each of the named kinds of processes.
func inHosts(t *testing.T, body func(*testing.T, host), names ...string) {
	t.Helper()
	for _, h := range hosts {
		if os.Getenv(hostVar) == h.name {
			body(t, h)
			return
		}
	}
	for _, h := range hosts {
		for _, name := range names {
			if h.name == name {
				t.Run(name, h.run)
			}
		}
	}
}

func (h host) run(t *testing.T) {
	if h.holds == messages.InCgroup {
		need.Cgroup(t)
	}
	if h.ordinary {
		need.Root(t)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	conformance.Subprocess{
		Args: []string{"-test.run=^" + test + "$"}, Env: []string{hostVar + "=" + h.name},
		Ordinary: h.ordinary, Passes: []string{test},
	}.Run(t)
}

// open opens a node of real processes.
func (h host) open(t *testing.T, limits actors.Limits) (*node.Node, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	node, err := node.Open(context.Background(), node.Options{
		Dir: dir, WorkDir: "/", OwnProcess: h.own, NoCgroup: h.nocgroup, Limits: limits,
	})
	require.NoError(t, err)
	return node, dir
}

// closing bounds the end of a node.
const closing = time.Minute

func shut(t *testing.T, node *node.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{Grace: -1}))
}

// rounds is n in a long run, and few otherwise.
func rounds(few, n int) int {
	if need.Soak() {
		return n
	}
	return few
}

// inFlight calls do for each number below n, a few at a time.
func inFlight(n, few int, do func(i int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, few)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			do(i)
		})
	}
	all.Wait()
}

// mark is an argument for sleep that is nobody else's: ten minutes.
func mark() string { return fmt.Sprintf("600.%d", os.Getpid()) }

// marked are the living processes with the mark among their arguments.
func marked() []int {
	return hostile.Find(func(pid int) bool {
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && bytes.Contains(argv, []byte("\x00"+mark()+"\x00"))
	})
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(names)
}

// children are those of all threads of this process, zombies too.
func children(t *testing.T) string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var all []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may be gone
		all = append(all, strings.Fields(string(text))...)
	}
	return strings.Join(all, " ")
}

func files(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	require.NoError(t, err)
	return n
}

// Commands in a row leave nothing behind: while they run there is as much of
// everything as for the records that are kept, whatever their number; when the
// node has ended there is as much as before.
func TestCommandsInARowLeaveNothing(t *testing.T) {
	inHosts(t, func(t *testing.T, h host) {
		first, _ := h.open(t, actors.Limits{}) // has the runtime open what it keeps
		_, err := first.Run(context.Background(), messages.RunCommand{Program: messages.Program{Argv: []string{"true"}}})
		require.NoError(t, err)
		shut(t, first)
		descriptors, others := entries(t, "/proc/self/fd"), goleak.IgnoreCurrent()

		const kept = 50
		node, dir := h.open(t, actors.Limits{Finished: kept})
		cgroups := h.cgroups(t, node)
		const most = kept + 100
		n := rounds(1000, 10_000)
		for i := range n {
			runOneOf(t, node, i)
			if i%500 == 499 {
				require.Less(t, entries(t, "/proc/self/fd"), descriptors+most, "descriptors after %d commands", i+1)
				require.Less(t, files(t, dir), most, "files after %d commands", i+1)
				if cgroups != "" {
					require.Less(t, entries(t, cgroups), most, "cgroups after %d commands", i+1)
				}
			}
		}
		shut(t, node)

		require.Empty(t, marked(), "processes")
		require.Empty(t, children(t), "children")
		require.Zero(t, entries(t, dir), "what outputs left in %s", dir)
		if cgroups != "" {
			require.NoDirExists(t, cgroups)
		}
		goleak.VerifyNone(t, others)
		require.LessOrEqual(t, entries(t, "/proc/self/fd"), descriptors, "descriptors")
	}, "library", "own without cgroups")
}

// runOneOf runs a command that leaves nothing, memory, a file or a process.
func runOneOf(t *testing.T, node *node.Node, i int) {
	t.Helper()
	r := messages.RunCommand{Program: messages.Program{Argv: []string{"true"}}}
	switch i % 20 {
	case 1, 11:
		r = messages.RunCommand{Program: messages.Program{Text: "echo some"}}
	case 2:
		r = messages.RunCommand{Program: messages.Program{Text: "head -c 60000 /dev/zero"}}
	case 3:
		r = messages.RunCommand{Program: messages.Program{Text: "sleep " + mark() + " & echo other"}, OnExit: messages.KillChildren}
	}
	job, err := node.Run(context.Background(), r)
	require.NoError(t, err)
	require.Equal(t, messages.Exited, job.End.Outcome, "%+v", job)
	require.Zero(t, job.End.Shell(), "%+v", job)
}

// cgroups is the directory of the node's cgroups, "" if it has none.
func (h host) cgroups(t *testing.T, node *node.Node) string {
	t.Helper()
	if h.holds != messages.InCgroup {
		return ""
	}
	ctx := context.Background()
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Argv: []string{"cat", "/proc/self/cgroup"}}})
	require.NoError(t, err)
	out, err := node.Output(ctx, job.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer out.Close()
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	_, path, found := strings.Cut(string(text), "\n0::")
	if !found {
		path, found = strings.CutPrefix(string(text), "0::")
	}
	require.True(t, found, string(text))
	path, _, _ = strings.Cut(path, "\n")
	dir := filepath.Join(need.Cgroup(t), filepath.Base(filepath.Dir(path)))
	require.DirExists(t, dir)
	return dir
}

// Not a byte is lost or doubled, and every command is said to have exited.
func TestEveryByteOfManyCommands(t *testing.T) {
	inHosts(t, func(t *testing.T, h host) {
		n := 2000
		if h.own {
			n = rounds(500, n)
		}
		ctx := context.Background()
		node, _ := h.open(t, actors.Limits{})
		var mu sync.Mutex
		var all []byte
		inFlight(n, 8, func(int) {
			job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "printf x"}})
			if err != nil || job.End.Outcome != messages.Exited || job.End.Shell() != 0 || job.OutputOpen || job.Output[0].Bytes != 1 {
				t.Errorf("%+v, %v", job, err)
				return
			}
			out, err := node.Output(ctx, job.ID, messages.Merged, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer out.Close()
			text, err := io.ReadAll(out)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, text...)
		})
		require.Equal(t, strings.Repeat("x", n), string(all))
		shut(t, node)
	}, "library", "own without cgroups")
}

// maxThreads is how many threads a node's process may have, whatever lives.
const maxThreads = 64

// Live jobs are not threads, and they end with their scope, every one.
func TestCrowdEndsWithItsScope(t *testing.T) {
	inHosts(t, func(t *testing.T, h host) {
		n := rounds(1000, 10_000)
		ctx := context.Background()
		node, _ := h.open(t, actors.Limits{})
		began := time.Now()
		inFlight(n, 64, func(i int) {
			job, err := node.Run(ctx, messages.RunCommand{
				Scope: "crowd", Session: messages.SessionID(fmt.Sprint("s", i/50)), Program: messages.Program{Argv: []string{"sleep", mark()}}, Mode: messages.ModeAsync,
			})
			if err != nil || job.State != messages.Running {
				t.Errorf("job %d: %+v, %v", i, job, err)
			}
		})
		require.Len(t, marked(), n)
		require.LessOrEqual(t, entries(t, "/proc/self/task"), maxThreads, "threads with %d jobs", n)

		stopped := time.Now()
		reply, err := node.Ask(ctx, messages.StopCommand{Scope: "crowd", Grace: -1})
		require.NoError(t, err)
		t.Logf("%d jobs began in %s and ended in %s", n, stopped.Sub(began), time.Since(stopped))
		require.IsType(t, messages.CommandStopped{}, reply)
		var named []int // a machine that is too busy to bury them in time
		for _, survivor := range reply.(messages.CommandStopped).Survivors {
			named = append(named, survivor.PID)
		}
		require.Subset(t, named, marked(), "processes that are left and not named")
		require.Len(t, reply.(messages.CommandStopped).Jobs, n)
		require.Eventually(t, func() bool { return len(marked()) == 0 }, endPatience, endPatience/1000, "processes that were named stay")
		require.LessOrEqual(t, entries(t, "/proc/self/task"), maxThreads, "threads behind the stop")
		shut(t, node)
		require.Empty(t, children(t))
	}, "own", "own without cgroups")
}

// When a stop returns, nothing is left of a tree that does its best to stay.
// A library's host without cgroups reaches its sessions only, and says so.
func TestStopEndsAHostileTree(t *testing.T) {
	inHosts(t, func(t *testing.T, h host) {
		ctx := context.Background()
		node, _ := h.open(t, actors.Limits{})
		tree := hostile.Tree{
			Roots: 24, Token: fmt.Sprint(os.Getpid(), t.Name(), time.Now().UnixNano()),
			Kinds: []hostile.Kind{hostile.Session, hostile.Orphan, hostile.Ignoring, hostile.Stopped, hostile.Daemon, hostile.Group},
		}
		t.Cleanup(func() {
			for _, pid := range tree.Alive() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		})
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Argv: tree.Command()}, Mode: messages.ModeAsync})
		require.NoError(t, err)
		require.Equal(t, h.holds, job.Isolation)
		out, err := node.Output(ctx, job.ID, messages.Merged, 0)
		require.NoError(t, err)
		defer out.Close()
		_, err = io.ReadFull(out, make([]byte, len(hostile.Ready)))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(tree.Alive()), tree.Roots)

		stopped, err := node.Ask(ctx, messages.StopCommand{Job: job.ID, Grace: 200 * time.Millisecond})
		require.NoError(t, err)
		survivors := stopped.(messages.CommandStopped).Survivors
		left := tree.Alive()
		job, err = node.Job(ctx, job.ID)
		require.NoError(t, err)
		require.Equal(t, messages.Cancelled, job.End.Outcome)
		if h.holds == messages.Group {
			require.True(t, job.HasFlag(messages.FlagTreeUnverified), "%+v", job)
			for _, pid := range left {
				sid, err := unix.Getsid(pid)
				require.True(t, err != nil || sid != job.PID, "process %d of the session is left", pid)
			}
		} else {
			require.Empty(t, left, "survivors: %+v", survivors)
		}
		require.Empty(t, survivors)
		shut(t, node)
	}, "library", "own", "own without cgroups", "library of an ordinary user", "own of an ordinary user")
}
