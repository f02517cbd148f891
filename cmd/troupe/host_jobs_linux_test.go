package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// The extensions of pi and opencode find the daemon as the configuration says. They run commands in it,
// over its death, and report each end of a background job once. They say what is missing of an output,
// and start no daemon after one that was shut down. Their jobs end with them.
func TestJobsOfHostExtensions(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	script, err := filepath.Abs("testdata/hosts/jobs.mts")
	require.NoError(t, err)
	for _, host := range []string{"pi", "opencode"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			at := t.TempDir()
			config := filepath.Join(at, "config.toml")
			require.NoError(t, os.WriteFile(config, []byte("socket = '"+at+"/own/d.sock'\n"), 0o600))
			d := serves(t, []string{"TROUPE_CONFIG=" + config})
			require.NoError(t, syscall.Mkfifo(d.file("gate"), 0o600))
			extension := filepath.Join(t.TempDir(), host)
			require.NoError(t, os.CopyFS(extension, os.DirFS(filepath.Join("../../contrib", host))))
			if host == "pi" {
				_ = os.RemoveAll(filepath.Join(extension, "node_modules")) // of one who works here
				installsTS(t, modules, extension)
			}
			cmd := exec.CommandContext(t.Context(), node, "--disable-warning=ExperimentalWarning", script, host, extension)
			cmd.Dir, cmd.Env = d.dir, d.Env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "ok\n", string(out))
			settles(t, "live jobs", 0, func() int { return strings.Count(d.beside("ps", "-q").start().rest(), "\n") })
		})
	}
}

// The watcher of the plugin for Claude Code starts the daemon, and the next one after a kill. After a
// shutdown it starts none.
func TestWatcherOfClaudeCodeStartsDaemons(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../contrib/claude-code/scripts/ends.sh")
	require.NoError(t, err)
	troupe, err := exec.LookPath("troupe")
	require.NoError(t, err)
	p := programFor(t, long)
	require.NoError(t, os.Mkdir(p.file("bin"), 0o700))
	require.NoError(t, syscall.Mkfifo(p.file("calls"), 0o600))
	shim := "#!/bin/sh\necho $$ > " + p.file("pid") + "\necho \"$1\" > " + p.file("calls") + "\nexec " + troupe + " \"$@\"\n"
	require.NoError(t, os.WriteFile(p.file("bin/troupe"), []byte(shim), 0o700)) //nolint:gosec // a program
	calls, err := os.OpenFile(p.file("calls"), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = calls.Close() })
	verbs := bufio.NewScanner(calls)
	called := func() string {
		require.True(t, verbs.Scan())
		return verbs.Text()
	}
	kills := func(pid string) {
		n, err := strconv.Atoi(strings.TrimSpace(pid))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
	}
	p.Path, p.Args = "/bin/sh", []string{"sh", script, p.file("data")}
	p.Env = append(p.Env, "TROUPE_NO_DAEMON=", "CLAUDE_PID="+strconv.Itoa(os.Getpid()), "PATH="+p.file("bin")+":"+os.Getenv("PATH"))
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	p.start()
	t.Cleanup(func() { _ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL) })
	require.Equal(t, "mcp", called())
	p.connected(1) // to its events
	for called() != "events" {
	}

	p.beside("shutdown").start().ends(0)
	kills(p.reads("pid")) // it would wait for a daemon
	require.Equal(t, "events", called())
	require.Equal(t, "events", called())
	ready, _ := p.daemons()
	require.Equal(t, 1, ready)

	p.beside("run", "-b", "exec sleep 600").start().ends(0)
	p.connected(1)
	kills(strconv.Itoa(p.daemonPID()))
	kills(p.reads("pid"))
	for verb := called(); verb != "mcp"; verb = called() {
		require.Equal(t, "events", verb)
	}
	eventually(t, "the third daemon", func() bool {
		ready, _ := p.daemons()
		return ready == 3
	})
}
