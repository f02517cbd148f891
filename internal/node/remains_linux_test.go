package node_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/node"
	"troupe/internal/test/need"
	"troupe/messages"
)

const remainsDir = "TROUPE_TEST_REMAINS"

// endPatience is how long a process may take to be gone once it was killed.
const endPatience = 30 * time.Second

// M6, without cgroups: the processes of a host that was killed are ended when the
// next node opens, wherever they went, and not before their host is dead.
func TestFaultAKilledHostsProcessesAreEnded(t *testing.T) {
	if dir := os.Getenv(remainsDir); dir != "" {
		hostToBeKilled(t, dir)
		return
	}
	need.Pidfd(t)
	dir := filepath.Join(t.TempDir(), "root")
	host := exec.Command(os.Args[0], "-test.run=^TestFaultAKilledHostsProcessesAreEnded$")
	host.Env = append(os.Environ(), remainsDir+"="+dir)
	hold, err := host.StdinPipe()
	require.NoError(t, err)
	defer hold.Close()
	says, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	defer func() { _, _ = host.Process.Kill(), host.Wait() }()

	var tree []unix.PollFd
	for lines := bufio.NewScanner(says); len(tree) < 3; {
		require.True(t, lines.Scan(), "its host has ended")
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		fd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		defer func() { _ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) }() // if the test has failed
		tree = append(tree, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}

	openAndClose(t, dir)
	require.Zero(t, ended(t, tree, 0), "processes of a living host were ended")

	require.NoError(t, host.Process.Kill())
	_ = host.Wait() // it says that it was killed
	require.Zero(t, ended(t, tree, 0), "they ended with their host: there is nothing to test")

	openAndClose(t, dir)
	for i := range tree {
		require.Equal(t, 1, ended(t, tree[i:i+1], endPatience))
	}
}

// openAndClose is the next node.
func openAndClose(t *testing.T, dir string) {
	t.Helper()
	node, err := node.Open(t.Context(), node.Options{Dir: dir, NoCgroup: true})
	require.NoError(t, err)
	require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{}))
}

// ended says how many of the processes have ended.
func ended(t *testing.T, tree []unix.PollFd, wait time.Duration) int {
	t.Helper()
	for {
		n, err := unix.Poll(tree, int(wait.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		require.NoError(t, err)
		return n
	}
}

// hostToBeKilled says which processes its job has, and waits.
func hostToBeKilled(t *testing.T, dir string) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{Dir: dir, OwnProcess: true, NoCgroup: true})
	require.NoError(t, err)
	job, err := node.Run(ctx, messages.RunCommand{
		Program: messages.Program{Text: "(setsid sleep 600 & echo $!); (trap '' TERM; sleep 600) & echo $!; echo $$; wait"}, Mode: messages.ModeAsync,
	})
	require.NoError(t, err)
	output, err := node.Output(ctx, messages.JobID(job.UID), messages.Merged, 0)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(os.Stdout, output) }()
	_, _ = os.Stdin.Read(make([]byte, 1)) // the end of the parent, at the latest
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{Grace: -1}))
}
