package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/test/need"
)

const nobodyUID = 65534

// asNobody does something as another user, on a thread that ends with it.
func asNobody(t *testing.T, do func() error) error {
	t.Helper()
	need.Root(t)
	var err error
	need.Thread(func() {
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobodyUID, nobodyUID, nobodyUID); e != 0 {
			err = e
			return
		}
		err = do()
	})
	return err
}

// socket is where the daemon of these surroundings listens.
func (p *process) socket() string {
	return p.file(fmt.Sprintf("troupe-%d/%s", os.Geteuid(), config.SocketName))
}

// opened makes a path of the test accessible to all users.
func (p *process) opened(path string) {
	p.t.Helper()
	require.NoError(p.t, os.Chmod(path, 0o777))
	for dir := filepath.Dir(path); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		require.NoError(p.t, os.Chmod(dir, 0o755))
	}
}

// S01: another user cannot reach the daemon, and is refused even if the modes were
// opened. A client sends nothing to a daemon of another user.
func TestSecurityAnotherUserAndTheDaemon(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	socket := d.socket()
	said := ""
	speak := func() error {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /v1/version HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(conn)
		said = string(b)
		return nil
	}
	require.ErrorIs(t, asNobody(t, speak), unix.EACCES)
	d.opened(socket)
	require.NoError(t, asNobody(t, speak))
	require.Empty(t, said)
	require.NoError(t, speak())
	require.Contains(t, said, "200 OK")

	p := program(t, "run", "-b", "echo > started")
	require.NoError(t, os.Mkdir(p.file("public"), 0o777))
	p.opened(p.file("public"))
	planted := p.file("public/s")
	require.NoError(t, asNobody(t, func() error {
		l, err := net.Listen("unix", planted)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
			err = os.Chmod(planted, 0o777)
		}
		return err
	}))
	p.Env = append(p.Env, "TROUPE_SOCKET="+planted)
	p.start().ends(cli.StatusOwn)
	require.Contains(t, p.err.String(), "the other end of the socket belongs to user 65534")
	q := p.beside("serve").start()
	q.ends(cli.StatusOwn)
	require.NoFileExists(t, p.file("started"))
}

// S13: a job has nothing of the daemon's environment, and neither has the keeper.
func TestSecurityTheDaemonsEnvironmentIsItsOwn(t *testing.T) {
	t.Parallel()
	d := serves(t, []string{"DAEMON_SECRET=hunter2"})
	conn, err := net.Dial("unix", d.file("troupe-0/"+config.SocketName))
	require.NoError(t, err)
	defer conn.Close()
	body := `{"command":"exec sleep 600","mode":"async","name":"plain"}`
	_, err = fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, reply.StatusCode, readAll(t, reply.Body))
	q := d.beside("run", "-b", "--name", "ours", "exec sleep 600")
	q.Env = append(q.Env, "DAEMON_SECRET=")
	q.start().ends(0)
	for _, job := range []string{"plain", "ours"} {
		pid := int(d.record(job)["pid"].(float64))
		for range 2 { // the job, and the keeper that is its parent
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			require.NoError(t, err)
			require.NotContains(t, string(env), "hunter2")
			pid = parent(t, pid)
		}
	}
}

// parent is the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\nPPid:\t")
	word, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(word)
	require.NoError(t, err)
	return n
}

// A state directory that is not ours alone, or that takes nothing, is refused by
// name, and nothing is written through a link.
func TestSecurityTheStateDirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, at, other string) error
		says string
		root bool
	}{
		"a link":           {func(_ *testing.T, at, other string) error { return os.Symlink(other, at) }, "is a symbolic link or not a directory (use a directory", false},
		"others may enter": {func(_ *testing.T, at, _ string) error { return os.Mkdir(at, 0o755) }, "has mode 0755: other users can enter it (use a directory", false},
		"another's": {func(_ *testing.T, at, _ string) error {
			if err := os.Mkdir(at, 0o700); err != nil {
				return err
			}
			return os.Chown(at, nobodyUID, nobodyUID)
		}, "belongs to user 65534 (use a directory", true},
		"read-only": {func(t *testing.T, at, _ string) error {
			if err := os.Mkdir(at, 0o700); err != nil {
				return err
			}
			return mount(t, at, unix.MS_RDONLY, "mode=0700")
		}, "cannot write the directory ", true},
		"full": {func(t *testing.T, at, _ string) error {
			if err := os.Mkdir(at, 0o700); err != nil {
				return err
			}
			if err := mount(t, at, 0, "mode=0700,size=4096"); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(at, "full"), make([]byte, 4096), 0o600)
		}, "no space left on device (free disk space", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root {
				need.Root(t)
			}
			p := program(t, "serve")
			at, other := p.file("state"), p.file("other")
			require.NoError(t, os.Mkdir(other, 0o700))
			require.NoError(t, c.make(t, at, other))
			p.Env = append(p.Env, "TROUPE_STATE="+at)
			p.start().ends(cli.StatusOwn)
			require.Contains(t, p.err.String(), c.says)
			q := p.beside("run", "-b", "--json", "echo > started").start()
			require.Contains(t, q.rest(), `"code":"refused","reason":"directory"`)
			q.ends(cli.StatusOwn)
			left, err := os.ReadDir(other)
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoFileExists(t, p.file("started"))
		})
	}
}

// mount makes a directory one of a small file system.
func mount(t *testing.T, dir string, flags uintptr, options string) error {
	err := unix.Mount("tmpfs", dir, "tmpfs", flags, options)
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return err
}

// F34: a daemon with few descriptors has few connections: more of them wait, and idle ones
// make room. A stream too many is refused with what helps. Without descriptors to accept
// with, it waits until there are some.
func TestFaultADaemonWithFewDescriptors(t *testing.T) {
	t.Parallel()
	d := program(t).bash("ulimit -n 64; exec troupe serve")
	d.start()
	d.err.has(t, `"message":"ready"`)
	t.Cleanup(d.swept)
	d.beside("run", "-b", "--name", "lasts", "exec sleep 600").start().ends(0)
	const most = 64 / 4
	var conns []net.Conn
	ask := func(what string) *http.Response {
		conn, err := net.Dial("unix", d.socket())
		require.NoError(t, err)
		conns = append(conns, conn)
		_, err = io.WriteString(conn, "GET /v1/"+what+" HTTP/1.1\r\nHost: t\r\n\r\n")
		require.NoError(t, err)
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		return reply
	}
	for range 3 * most {
		require.Equal(t, http.StatusOK, ask("health").StatusCode)
	}
	var stats struct{ Connections int }
	require.NoError(t, json.NewDecoder(ask("stats").Body).Decode(&stats))
	require.LessOrEqual(t, stats.Connections, most)
	for range most - most/8 {
		require.Equal(t, http.StatusOK, ask("jobs/lasts/output?follow=true").StatusCode)
	}
	reply := ask("jobs/lasts/output?follow=true")
	require.Equal(t, http.StatusServiceUnavailable, reply.StatusCode)
	text := readAll(t, reply.Body)
	require.Contains(t, text, `"code":"resource_exhausted","reason":"connections"`)
	require.Contains(t, text, "raise the limit of open files (ulimit -n): it allows fewer connections than limits.connections")
	waits := d.beside("ps", "-q").start()
	require.Equal(t, "j1\n", waits.rest())
	waits.ends(0)
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}

	var all unix.Rlimit
	require.NoError(t, unix.Prlimit(d.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4, Max: 64}, &all))
	waits = d.beside("ps", "-q").start()
	d.err.has(t, "too many open files; retrying in")
	require.NoError(t, unix.Prlimit(d.Process.Pid, unix.RLIMIT_NOFILE, &all, nil))
	require.Equal(t, "j1\n", waits.rest())
	waits.ends(0)
	require.Equal(t, "running", d.record("lasts")["state"])
}

// F31, F32: the state directory is full while the daemon runs. What fits in memory
// runs and ends as ever; a large output waits for room, and then all of it is there.
func TestFaultTheStateIsFull(t *testing.T) {
	t.Parallel()
	p := program(t, "serve")
	state := p.file("troupe")
	require.NoError(t, os.Mkdir(state, 0o700))
	require.NoError(t, mount(t, state, 0, "mode=0700,size=16m"))
	p.start().err.has(t, `"message":"ready"`)
	t.Cleanup(p.swept)
	open := gate(t, p.file("gate"))
	p.beside("run", "-b", "--name", "large", "read x < gate; seq 100000; exit 7").start().ends(0)
	fill := filepath.Join(state, "fill")
	require.ErrorIs(t, os.WriteFile(fill, make([]byte, 16<<20), 0o600), unix.ENOSPC)
	q := p.beside("run", "echo small; exit 6").start()
	require.Equal(t, "small\n", q.rest())
	q.ends(6)
	open()
	p.beside("wait", "--timeout", "500ms", "large").start().ends(statusTimeout)
	require.NoError(t, os.Remove(fill))
	p.beside("wait", "large").start().ends(7)
	var want strings.Builder
	sequence(&want, 100000)
	q = p.beside("logs", "large").start()
	require.True(t, q.rest() == want.String(), "other bytes came")
	q.ends(0)
}
