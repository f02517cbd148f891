package node_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/node"
	"troupe/internal/test/need"
	"troupe/messages"
)

// silentMount is a file system whose server never answers: what looks into it
// hangs, as with a network that is gone, until the test is over.
func silentMount(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Mount("silent", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
		if err != nil {
			_ = unix.Close(fd)
		}
	}
	need.Feature(t, err == nil, "the right to mount a FUSE file system")
	t.Cleanup(func() {
		_ = unix.Close(fd) // whoever hangs is let go
		require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH))
	})
	return dir
}

// A command in a directory that really hangs holds up nobody: others run in other
// sessions, it can be stopped, and the node ends.
func TestFaultDirectoryHangsInTheKernel(t *testing.T) {
	dir := filepath.Join(silentMount(t), "x")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	node, err := node.Open(ctx, node.Options{Dir: filepath.Join(t.TempDir(), "out")})
	require.NoError(t, err)
	hangs := node.Submit(messages.RunCommand{Program: messages.Program{Text: "true"}, Dir: dir})
	for range 20 {
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "true"}, Session: "other"})
		require.NoError(t, err)
		require.Equal(t, messages.Exited, job.End.Outcome)
	}
	_, err = node.Ask(ctx, messages.StopCommand{Job: messages.JobID(hangs.UID)})
	require.NoError(t, err)
	job, err := hangs.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, job.End.Outcome)

	last := node.Submit(messages.RunCommand{Program: messages.Program{Text: "true"}, Dir: dir})
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	job, err = last.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, job.End.Outcome)
}
