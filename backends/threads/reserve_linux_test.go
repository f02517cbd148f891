package threads

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// limitVar names to the process of a test the cgroup whose limit it reaches.
const limitVar = "TROUPE_TEST_LIMIT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(limitVar); dir != "" {
		if err := atLimit(dir); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// atLimit has as many calls block as there are threads for, when no thread can be made
// any more.
func atLimit(dir string) error {
	Reserve()()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte("1"), 0); err != nil {
		return err
	}
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		return err
	}
	var began, ended sync.WaitGroup
	for range runtime.GOMAXPROCS(0) + spare {
		began.Add(1)
		ended.Go(func() {
			began.Done()
			_, _ = unix.Read(fds[0], make([]byte, 1)) // not by way of the poller
		})
	}
	began.Wait()
	err := unix.Close(fds[1])
	ended.Wait()
	return err
}

// A process that can have no more threads goes on with those that it has.
func TestFaultNoMoreThreads(t *testing.T) {
	dir, err := os.MkdirTemp("/sys/fs/cgroup/pids", "troupe-test-")
	need.Feature(t, err == nil, "a limit of processes")
	t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), limitVar+"="+dir)
	text, err := child.CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// Whoever reserves again has no more for it.
func TestReserveTwice(t *testing.T) {
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(tasks)
	}
	Reserve()()
	once := threads()
	require.GreaterOrEqual(t, once, 2*runtime.GOMAXPROCS(0)+spare)
	for range 10 {
		Reserve()()
	}
	require.LessOrEqual(t, threads(), once+3, "there were %d", once)
}
