//go:build amd64 || arm64

package signals

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aJob starts a text of sh as a job. It returns the pids that the text prints.
func aJob(t *testing.T, pids int, env []string, text string, args ...string) (all []int) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", text}, args...)...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close() // ends each process: it reads the input
		_ = cmd.Wait()
	})
	for range pids {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		all = append(all, pid)
	}
	return all
}

const pidAndRead = `sh -c 'echo $$; cat'`

func TestOriginIsTheOutermostProcess(t *testing.T) {
	env := []string{"TROUPE_TREE=n:OUTER:n:JOB", "TROUPE_SCOPE=agents/a", "TROUPE_JOB_ID=j1"}
	want := JobEnv{UID: "JOB", Scope: "agents/a", id: "j1"}
	for name, text := range map[string]string{
		"its child":                  pidAndRead,
		"another scope":              "TROUPE_SCOPE=main " + pidAndRead,
		"another job":                "TROUPE_TREE=n:OTHER TROUPE_SCOPE=main " + pidAndRead,
		"no variables":               "env -i " + pidAndRead,
		"a session of its own":       "env -i setsid -w " + pidAndRead,
		"a child of a changed one":   "TROUPE_SCOPE=main sh -c '" + `echo $$; sh -c "cat" ` + "'",
		"a job within, no daemon":    "TROUPE_TREE=n:OUTER:n:JOB:m:IN TROUPE_SCOPE=in " + pidAndRead,
		"the main process, replaced": "exec " + pidAndRead,
	} {
		t.Run(name, func(t *testing.T) {
			pid := aJob(t, 1, env, text)[0]
			in, is := Origin("/nowhere", pid)
			require.True(t, is)
			require.Equal(t, want, in)
		})
	}
}

func TestOriginBelowAKeeper(t *testing.T) {
	text := "TROUPE_TREE=n:JOB TROUPE_SCOPE=a " + pidAndRead + "; :"
	env := []string{"TROUPE_TREE=o:OUTER", "TROUPE_SCOPE=outer"}
	pid := aJob(t, 1, env, text, "keeper", "--dir", "/state/keeper", "--fd", "3")[0]
	in, is := Origin("/state", pid)
	require.True(t, is)
	require.Equal(t, JobEnv{UID: "JOB", Scope: "a"}, in, "the keeper's own job is not that of its child")
	in, is = Origin("/other", pid)
	require.True(t, is)
	require.Equal(t, JobEnv{UID: "OUTER", Scope: "outer"}, in, "the keeper of another state is a process like others")
}

func TestOriginOfOthers(t *testing.T) {
	for _, pid := range []int{0, 1, os.Getpid(), os.Getppid()} {
		in, is := Origin("/nowhere", pid)
		require.False(t, is, pid)
		require.Zero(t, in)
	}
	pid := aJob(t, 1, nil, pidAndRead)[0]
	in, is := Origin("/nowhere", pid)
	require.True(t, is, "a job without variables")
	require.Zero(t, in)

	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	in, is = Origin("/nowhere", ended.Process.Pid)
	require.True(t, is, "what has ended may have belonged to a job")
	require.Zero(t, in)
}
