package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// tooLong is how long anything may take that happens at once, on a machine that has
// a lot else to do. A test that waits so long has failed.
const tooLong = 2 * time.Minute

// long is how long a program may live that a test asks again and again.
const long = 8 * time.Minute

// process is a running troupe with its own temporary directory.
type process struct {
	*exec.Cmd
	t   *testing.T
	dir string // its TMPDIR and working directory

	out   *bufio.Reader // its stdout, unless the test has given it another
	pipe  io.Closer
	err   *lines
	seen  <-chan struct{} // what it wrote has been read; nil: at once
	ended chan struct{}
	fault error
}

// program prepares the program; start starts it.
func program(t *testing.T, args ...string) *process {
	t.Helper()
	return programFor(t, tooLong, args...)
}

// programFor is one that may live longer.
func programFor(t *testing.T, long time.Duration, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, "troupe", args...), t: t, dir: t.TempDir(), ended: make(chan struct{})}
	t.Cleanup(func() { endKeeper(filepath.Join(p.dir, "troupe")) })
	p.Dir = p.dir
	p.Env = append(os.Environ(), "TMPDIR="+p.dir, "HOME="+p.dir, "LC_ALL=C.UTF-8", "TROUPE_SCOPE=", "TROUPE_SOCKET=", "TROUPE_STATE=", "TROUPE_CONFIG=", "TROUPE_NO_DAEMON=1", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "TERM=xterm", "NO_COLOR=")
	if len(args) > 0 && (args[0] == "serve" || args[0] == "mcp") { // commands beside them use the daemon
		p.Env = append(p.Env, "TROUPE_NO_DAEMON=")
	}
	p.err = &lines{news: make(chan struct{}, 1)}
	p.Stderr = p.err
	p.WaitDelay = tooLong / 4 // its pipes end with it
	return p
}

// withGoCaches lets the go command of a job use the caches of this one. With empty caches
// it fetches and compiles everything anew, which takes minutes.
func (p *process) withGoCaches() *process {
	p.t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		dir, err := exec.CommandContext(p.t.Context(), "go", "env", name).Output()
		if err != nil {
			p.t.Fatal(err)
		}
		p.Env = append(p.Env, name+"="+strings.TrimSpace(string(dir)))
	}
	return p
}

// start starts it. Stdout is read with line, unless it was set.
func (p *process) start() *process {
	p.t.Helper()
	if p.Stdout == nil {
		r, w, err := os.Pipe()
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { _ = r.Close() })
		p.Stdout, p.out, p.pipe = w, bufio.NewReader(r), r
		defer w.Close()
	}
	if err := p.Cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		p.fault = p.Cmd.Wait()
		if p.seen != nil {
			<-p.seen
		}
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	return p
}

// line reads the next line of stdout, without its end.
func (p *process) line() string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("stdout ended with %q: %v; stderr: %s", s, err, p.err)
	}
	return strings.TrimSuffix(s, "\n")
}

// rest reads stdout to its end.
func (p *process) rest() string {
	p.t.Helper()
	b, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// send sends it a signal.
func (p *process) send(sig syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for its end, and checks the exit status.
func (p *process) ends(want ...int) {
	p.t.Helper()
	<-p.ended
	var exit *exec.ExitError
	if p.fault != nil && !errors.As(p.fault, &exit) {
		p.t.Errorf("it could not be waited for: %v", p.fault)
	}
	got := p.ProcessState.ExitCode()
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		got = cli.SignalBase + int(status.Signal()) // as a shell says it
	}
	if !slices.Contains(want, got) {
		p.t.Errorf("exit status %d (%v), want one of %d; stderr:\n%s", got, p.ProcessState, want, p.err)
	}
}

// file is a path in its directory.
func (p *process) file(name string) string { return filepath.Join(p.dir, name) }

// gone checks that processes do not live.
func gone(t *testing.T, pids ...string) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %s lives", pid)
		}
	}
}

// gate holds a command until the test opens it: "read x < PATH".
func gate(t *testing.T, path string) (open func()) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("\n")
			_ = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// post is passed by a command that does "echo > PATH", which the returned function
// waits for.
func post(t *testing.T, path string) (passed func()) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
}

// bash makes a process run bash, which finds the program as troupe.
func (p *process) bash(text string) *process {
	p.t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		p.t.Fatal(err)
	}
	p.Path, p.Args = path, []string{"bash", "-c", text}
	if strings.Contains(text, "troupe serve") { // commands beside it use the daemon
		p.Env = append(p.Env, "TROUPE_NO_DAEMON=")
	}
	return p
}

// lines holds the output of a process so far, and wakes readers that wait for more.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{}
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(b)
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(b), nil
}

// String is all of it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// has waits until a text is in it. It is for one goroutine.
func (l *lines) has(t *testing.T, text string, or ...string) {
	t.Helper()
	late := time.After(tooLong)
	for !slices.ContainsFunc(append(or, text), func(one string) bool { return strings.Contains(l.String(), one) }) {
		select {
		case <-l.news:
		case <-late:
			t.Fatalf("waited for %q, and got %q", text, l)
		}
	}
}

// eventually looks until it is so: for what no event tells of.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(tooLong); !is(); <-tick.C {
		require.True(t, time.Now().Before(limit), what)
	}
}
