package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/test/need"
)

// servesAt is a daemon whose runtime directory is "run" in its own, with a job.
func servesAt(t *testing.T) *process {
	t.Helper()
	d := programFor(t, long, "serve")
	require.NoError(t, os.Mkdir(d.file("run"), 0o700))
	d.Env = append(d.Env, "XDG_RUNTIME_DIR="+d.file("run"))
	d.start()
	d.err.has(t, `"message":"ready"`)
	t.Cleanup(d.swept)
	d.beside("run", "-b", "--name", "lasts", "exec sleep 600").start().ends(0)
	return d
}

// finds checks that clients in other surroundings find the daemon with its job, and start
// none.
func (p *process) finds(env ...string) {
	p.t.Helper()
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"ps", "-q"}, "j1\n"}, {[]string{"run", "echo ran"}, "ran\n"}} {
		q := p.beside(c.args...)
		q.Env = slices.Concat(q.Env, env)
		require.Equal(p.t, c.want, q.start().rest(), "%v: %s", env, q.err)
		q.ends(0)
		require.Empty(p.t, q.err.String(), "it starts no daemon")
	}
}

// A socket or a runtime directory that was removed is made anew within seconds. Clients
// find the daemon meanwhile.
func TestFaultTheSocketIsRemoved(t *testing.T) {
	t.Parallel()
	for _, removed := range []string{"run/troupe/" + config.SocketName, "run/troupe", "run"} {
		t.Run(removed, func(t *testing.T) {
			t.Parallel()
			d := servesAt(t)
			require.NoError(t, os.RemoveAll(d.file(removed)))
			d.finds()
			eventually(t, "a new socket", func() bool {
				c, err := client.Dial(t.Context(), d.file("run/troupe/"+config.SocketName))
				return err == nil && c.Close() == nil
			})
			d.err.has(t, "the socket was removed and has been made anew")
			require.NoError(t, os.Remove(d.file("troupe/"+config.SocketName)))
			eventually(t, "a new socket in the state directory", func() bool {
				c, err := client.Dial(t.Context(), d.file("troupe/"+config.SocketName))
				return err == nil && c.Close() == nil
			})
		})
	}
}

// A detached command whose client cannot reach the daemon, because both sockets were removed, is
// a job of that daemon: the client waits for a new socket.
func TestFaultDetachedPastRemovedSockets(t *testing.T) {
	t.Parallel()
	d := servesAt(t)
	require.NoError(t, errors.Join(os.Remove(d.file("run/troupe/"+config.SocketName)), os.Remove(d.file("troupe/"+config.SocketName))))
	q := d.beside("run", "--detach", "--name", "apart", "exit 3").start()
	require.Equal(t, "j2\n", q.rest())
	q.ends(0)
	d.beside("wait", "apart").start().ends(3)
}

// A client finds the daemon of its state directory from each login: without a runtime
// directory, with another one or one that is not there, and with another socket.
func TestFaultTheDaemonIsFoundByItsState(t *testing.T) {
	t.Parallel()
	d := servesAt(t)
	require.NoError(t, os.Mkdir(d.file("other"), 0o700))
	for _, env := range []string{
		"XDG_RUNTIME_DIR=", "XDG_RUNTIME_DIR=" + d.file("other"), "XDG_RUNTIME_DIR=" + d.file("nowhere"), "XDG_RUNTIME_DIR=/dev/null/run",
		"XDG_RUNTIME_DIR=/" + strings.Repeat("long/", 40), "TROUPE_SOCKET=" + d.file("elsewhere/s"),
	} {
		d.finds(env)
	}
}

// A daemon starts, and is found, where no directory for its socket can be made. One that
// the user has named must be usable.
func TestFaultNoRuntimeDirectory(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"/dev/null/run", "/" + strings.Repeat("long/", 40)} {
		p := program(t, "run", "-b", "--name", "lasts", "exec sleep 600")
		p.Env = append(p.Env, "XDG_RUNTIME_DIR="+runtime)
		t.Cleanup(func() { endJobs(p.dir, p.Env) })
		p.start().ends(0)
		p.finds()
		doctor := p.beside("doctor").start()
		require.NotContains(t, doctor.rest(), "problem:")
		doctor.ends(0)
	}
	p := program(t, "run", "-b", "true")
	p.Env = append(p.Env, "TROUPE_SOCKET=/dev/null/run/s")
	p.start().ends(cli.StatusOwn)
}

// What another user plants at $TMPDIR/troupe-UID stops nothing: neither the daemon nor its
// clients, nor outputs that need a file.
func TestSecurityPlantedDirectoryStopsNothing(t *testing.T) {
	t.Parallel()
	need.Root(t)
	for name, plant := range map[string]func(path string) error{
		"a directory":                 func(path string) error { return os.Mkdir(path, 0o700) },
		"a directory open to all":     func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
		"a file":                      func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to a directory":       func(path string) error { return os.Symlink("/var", path) },
		"a socket":                    func(path string) error { return plantedSocket(t, path, 100) },
		"a socket that never answers": func(path string) error { return plantedSocket(t, path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "doctor")
			p.opened(p.dir)
			require.NoError(t, os.Chmod(p.dir, 0o777|os.ModeSticky))
			require.NoError(t, asNobody(t, func() error { return plant(p.file("troupe-0")) }))
			doctor := p.start()
			require.NotContains(t, doctor.rest(), "problem:")
			doctor.ends(0)
			long := p.beside("run", "seq 1 100000").start()
			require.Len(t, long.rest(), 588895)
			long.ends(0)
			run := p.beside("run", "-b", "--name", "lasts", "exec sleep 600").start()
			t.Cleanup(func() { endJobs(p.dir, p.Env) })
			require.Equal(t, "j1\n", run.rest())
			run.ends(0)
			p.finds()
			p.beside("shutdown", "--stop-jobs").start().ends(0)
		})
	}
}

// plantedSocket makes a directory with a socket that accepts nothing. If it queues none,
// its queue is full.
func plantedSocket(t *testing.T, dir string, queue int) error {
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	path := filepath.Join(dir, config.SocketName)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, queue), os.Chmod(path, 0o777)); err != nil {
		return err
	}
	for queue == 0 {
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return nil
}
