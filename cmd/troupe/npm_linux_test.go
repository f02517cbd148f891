package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/test/need"
)

// The launcher of the npm package becomes the program where Node can, and stands for it where
// it cannot: arguments, input, output, signals and the exit status are those of the program.
func TestTheNpmLauncherIsTheProgram(t *testing.T) {
	t.Parallel()
	node, _ := need.Node(t)
	for name, options := range map[string][]string{"execve": nil, "a child": {"--require", "./child.cjs"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launches(t)
			launch := func(args ...string) *process {
				q := p.beside(args...)
				q.Path, q.Args = node, append(append([]string{node}, options...), append([]string{"node_modules/troupe/bin/troupe.js"}, args...)...)
				return q
			}
			q := launch("run", "cat; exit 5")
			q.Stdin = strings.NewReader("hello\n")
			q.start()
			require.Equal(t, "hello\n", q.rest())
			q.ends(5)
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				q = launch("run", "echo begun; exec sleep 600").start()
				require.Equal(t, "begun", q.line())
				q.send(sig)
				q.ends(cli.SignalBase + int(sig))
				q.err.has(t, "interrupted by "+cli.SignalName(sig))
			}
			q = launch("logs", "--no-such-flag").start()
			q.ends(cli.StatusUsage)

			require.NoError(t, os.RemoveAll(p.file("node_modules/@troupe")))
			q = launch("version").start()
			q.err.has(t, "is missing; install troupe again, without --omit=optional")
			q.ends(cli.StatusOwn)
		})
	}
}

// launches makes a directory in which npm has installed the packages.
func launches(t *testing.T) *process {
	t.Helper()
	p := program(t)
	cpu := strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	at := p.file("node_modules/@troupe/troupe-linux-" + cpu)
	bin, err := exec.LookPath("troupe")
	require.NoError(t, err)
	require.NoError(t, errors.Join(
		os.MkdirAll(filepath.Join(at, "bin"), 0o700),
		os.Symlink(bin, filepath.Join(at, "bin/troupe")),
		os.WriteFile(filepath.Join(at, "package.json"), []byte("{}"), 0o600),
		os.CopyFS(p.file("node_modules/troupe"), os.DirFS("../../contrib/npm")),
		os.WriteFile(p.file("child.cjs"), []byte("process.execve = undefined;\n"), 0o600),
	))
	return p
}
