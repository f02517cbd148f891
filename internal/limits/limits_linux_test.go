package limits

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// actVar names what the process of a test does in place of the tests.
const actVar = "TROUPE_TEST_LIMITS"

var acts = map[string]func(){
	"raise": func() {
		for _, resource := range raised {
			var l unix.Rlimit
			_ = unix.Getrlimit(resource, &l)
			set(resource, min(l.Max-1, 1<<40), l.Max)
		}
		set(unix.RLIMIT_FSIZE, 1<<20, 1<<30)
		g := Raise(Given{})
		again := Raise(g)
		fmt.Println(g.Soft[unix.RLIMIT_FSIZE], len(g.Soft), len(again.Soft))
		var l unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_FSIZE, &l)
		fmt.Println(l.Cur, l.Max)
	},
	"few":  func() { set(unix.RLIMIT_NPROC, userThreads()+threadsNeeded/2, 0) },
	"some": func() { set(unix.RLIMIT_NPROC, userThreads()+threadsNeeded*2, 0) },
	"many": func() { set(unix.RLIMIT_NPROC, threadsFew, 0) },
	"cpu":  func() { set(unix.RLIMIT_CPU, 30, 0) },
	"long": func() { set(unix.RLIMIT_CPU, 3600, 0) },
	"file": func() { set(unix.RLIMIT_FSIZE, 1<<20, 0) },
	"data": func() { set(unix.RLIMIT_DATA, 200<<20, 0) },
	"nice": func() { _ = unix.Setpriority(unix.PRIO_PROCESS, os.Getpid(), 19) },
	"none": func() {},
}

// set sets a limit of this process; hard 0: as soft.
func set(resource int, soft, hard uint64) {
	l := unix.Rlimit{Cur: soft, Max: max(soft, hard)}
	var was unix.Rlimit
	_ = unix.Getrlimit(resource, &was)
	l.Max = min(l.Max, was.Max)
	if err := unix.Setrlimit(resource, &l); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	act := acts[os.Getenv(actVar)]
	if act == nil {
		os.Exit(m.Run())
	}
	act()
	if os.Getenv(actVar) == "raise" {
		return
	}
	found := Examine(os.Getpid())
	for _, f := range found {
		fmt.Println(f.Lethal, f.Text)
	}
	fmt.Println(Refuse("daemon", found))
}

// acting runs this program with a limit, as a user that the limit of processes applies to.
func acting(t *testing.T, act string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	if os.Geteuid() == 0 {
		program, err := os.ReadFile(self)
		require.NoError(t, err)
		dir, err := os.MkdirTemp("", "troupe-limits-")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o755))
		cmd.Path = filepath.Join(dir, "limits")
		require.NoError(t, os.WriteFile(cmd.Path, program, 0o755))
		require.NoError(t, os.Chmod(cmd.Path, 0o755))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), actVar+"="+act)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// Soft limits are raised, and what they were is known, also to the next process.
func TestSoftLimitsAreRaised(t *testing.T) {
	require.Equal(t, "1048576 4 4\n1073741824 1073741824\n", acting(t, "raise"))
}

// Each limit is found. One that would end a process soon refuses its start.
func TestLimitsAreExamined(t *testing.T) {
	for act, want := range map[string]string{
		"few":  "true the limit of processes and threads is ",
		"some": "false the limit of processes and threads is ",
		"cpu":  "true the limit of CPU time is 30s (ulimit -t): ",
		"long": "false the limit of CPU time is 1h0m0s (ulimit -t): ",
		"file": "true the limit of the size of files is 1 MiB (ulimit -f): ",
		"data": "true the limit of data memory is 200 MiB (ulimit -d): ",
		"nice": "false the nice value is 19, ",
	} {
		said := acting(t, act)
		require.Contains(t, said, want, act)
		refused := "the daemon would end soon: the limit of "
		if strings.HasPrefix(want, "true") {
			require.Contains(t, said, refused, act)
		} else {
			require.NotContains(t, said, refused, act)
		}
	}
	for _, act := range []string{"many", "none"} {
		require.NotContains(t, acting(t, act), "processes and threads", act)
	}
}
