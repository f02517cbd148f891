package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wants is what each program writes to stdout.
var wants = map[string]string{
	"background": "job build exited with 3\n",
	"cancel":     "cancelled true\n",
	"daemon":     "greeting running <nil>\n",
	"dialect":    "hello\n\n",
	"events":     "exited 7 <nil>\n",
	"output":     "status 3, output \"hello\\n\"\n",
	"session":    "hello from /\n<nil>\n",
	"stdin":      "a\nb\n",
	"stream":     "line 1\nline 2\nline 3\n",
	"terminal":   "troupe hello troupe <nil>\n",
}

// Each program runs and writes what its reader expects. The same programs run against a daemon
// when Connect takes the place of Open.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Len(t, files, len(wants)+2, "doc.go and this test are no examples")
	env := surroundings(t)
	for name, want := range wants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name + ".go")
			require.NoError(t, err)
			require.LessOrEqual(t, strings.Count(string(text), "\n"), 30)
			require.Equal(t, want, run(t, env, build(t, name+".go", nil)))
			const here, there = "troupe.Open(ctx, troupe.Options{})", `troupe.Connect(ctx, "")`
			if changed := strings.Replace(string(text), here, there, 1); changed != string(text) {
				require.Equal(t, want, run(t, env, build(t, name+".go", []byte(changed))), "against a daemon")
			}
		})
	}
}

// surroundings returns the environment of the programs, with a daemon of their own.
func surroundings(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "te") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/bin/troupe", "../cmd/troupe")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"home", "tmp", "run"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	env := append(os.Environ(), "HOME="+dir+"/home", "TMPDIR="+dir+"/tmp", "XDG_RUNTIME_DIR="+dir+"/run", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=",
		"TROUPE_SOCKET=", "TROUPE_STATE=", "TROUPE_CONFIG=", "PATH="+dir+"/bin:"+os.Getenv("PATH"))
	run(t, env, dir+"/bin/troupe", "run", "-b", "true") // it starts the daemon
	t.Cleanup(func() { run(t, env, dir+"/bin/troupe", "shutdown", "--stop-jobs") })
	return env
}

// build compiles a program, with another text if there is one, and returns its path.
func build(t *testing.T, name string, changed []byte) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-ldflags=-s -w", "-o", filepath.Join(dir, "program")}
	if changed != nil {
		here, err := filepath.Abs(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), changed, 0o600))
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: filepath.Join(dir, name)}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay"), overlay, 0o600))
		args = append(args, "-overlay", filepath.Join(dir, "overlay"))
	}
	out, err := exec.Command("go", append(args, name)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return filepath.Join(dir, "program")
}

// run runs a program and returns what it writes to stdout.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, name)
	return string(out)
}
