package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// starter runs commands that start their daemon themselves, which ends when it is idle for a time.
func starter(t *testing.T, idle string) *process {
	t.Helper()
	p := program(t)
	p.Env = append(p.Env, "TROUPE_NO_DAEMON=")
	require.NoError(t, os.MkdirAll(p.file("troupe"), 0o700))
	require.NoError(t, os.WriteFile(p.file("troupe/config.toml"), []byte("idle_exit = \""+idle+"\"\n"), 0o600))
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	return p
}

// prints runs a command to its end with status 0, and returns its stdout.
func (p *process) prints(args ...string) string {
	p.t.Helper()
	q := p.beside(args...).start()
	text := q.rest()
	q.ends(0)
	return strings.TrimSuffix(text, "\n")
}

// daemons returns how many daemons have been ready in these surroundings, and how many of them
// have ended because they were idle.
func (p *process) daemons() (ready, idle int) {
	p.t.Helper()
	log, err := os.ReadFile(p.file("troupe/daemon.log"))
	require.NoError(p.t, err)
	return strings.Count(string(log), `"message":"ready"`), strings.Count(string(log), `"message":"nothing runs and no client is connected`)
}

// awaitIdle waits until no daemon and no keeper runs.
func (p *process) awaitIdle() {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(tooLong); time.Now().Before(late); <-tick.C { // no event tells of the end of another's child
		if keepers, locked := keepersIn(p.file("troupe")); len(keepers) == 0 && !locked && p.unanswered() {
			return
		}
	}
	p.t.Fatal("the daemon does not end")
}

func (p *process) unanswered() bool {
	conn, err := net.Dial("unix", p.file("troupe/daemon.sock"))
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}

// A plain command starts the daemon, without a word where stderr is no terminal. When the daemon
// has nothing to hold it ends with its keeper, and the next one has the history.
func TestDaemonOfACommandEndsWhenItIsIdle(t *testing.T) {
	t.Parallel()
	p := starter(t, "200ms")
	first := p.beside("run", "--name", "first", "echo one; exit 3").start()
	require.Equal(t, "one\n", first.rest())
	first.ends(3)
	require.Empty(t, first.err.String())
	p.awaitIdle()
	ready, idle := p.daemons()
	require.Equal(t, []int{1, 1}, []int{ready, idle})
	require.Equal(t, "one", p.prints("logs", "first"))
	p.awaitIdle()
	require.Equal(t, "two", p.prints("run", "echo two"))
	require.Equal(t, "j1\nj2", p.prints("ps", "-a", "-q"))
}

// A host that ends all descendants of its servers when it exits, as opencode does, does not end a
// daemon that one of them has started.
func TestFaultHostEndsItsDescendants(t *testing.T) {
	t.Parallel()
	p := starter(t, "10m")
	open := gate(t, p.file("gate"))
	server := p.beside("run", "echo up; read x < gate").start()
	require.Equal(t, "up", server.line())
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", server.Process.Pid))
	require.NoError(t, err)
	require.Empty(t, string(children))
	session, err := unix.Getsid(p.daemonPID())
	require.NoError(t, err)
	require.Equal(t, p.daemonPID(), session)
	open()
	server.ends(0)
}

// A live job, a leftover process, a live shell, a connection and a notice hold the daemon.
func TestDaemonThatHoldsSomethingIsNotIdle(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(t *testing.T, p *process) (release func()){
		"job": func(t *testing.T, p *process) func() {
			open := gate(t, p.file("gate"))
			p.prints("run", "-b", "read x < gate")
			return open
		},
		"leftover": func(t *testing.T, p *process) func() {
			open := gate(t, p.file("gate"))
			q := p.beside("run", "(read x < gate) > /dev/null 2>&1 &").start()
			q.rest()
			q.ends(0)
			q.err.has(t, "troupe: the command left 1 background process running; troupe stop j1 ends what is left")
			return open
		},
		"shell": func(t *testing.T, p *process) func() {
			p.prints("run", "-s", "dev", "x=1")
			return func() { p.prints("close", "dev") }
		},
		"connection": func(t *testing.T, p *process) func() {
			open := gate(t, p.file("gate"))
			p.prints("run", "-b", "read x < gate")
			q := p.beside("events", "-f", "--after", "0").start()
			q.line()
			open()
			return func() {
				require.NoError(t, q.Process.Kill())
				<-q.ended
			}
		},
		"notice": func(t *testing.T, p *process) func() {
			var once sync.Once
			allowed := make(chan struct{})
			server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				select {
				case <-allowed:
				default:
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			go func() { _ = server.Serve(l) }()
			t.Cleanup(func() { _ = server.Close() })
			p.prints("run", "--on-finish", fmt.Sprintf("http://%s/", l.Addr()), "true")
			return func() { once.Do(func() { close(allowed) }) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := starter(t, "100ms")
			release := hold(t, p)
			for range 5 { // it looks at itself at least so often meanwhile
				<-time.After(100 * time.Millisecond)
			}
			ready, idle := p.daemons()
			require.Equal(t, []int{1, 0}, []int{ready, idle})
			release()
			p.awaitIdle()
			ready, idle = p.daemons()
			require.Equal(t, []int{1, 1}, []int{ready, idle})
		})
	}
}

// Commands that come while the daemon ends run all the same, each once.
func TestFaultCommandsComeAsTheDaemonEnds(t *testing.T) {
	t.Parallel()
	p := starter(t, "1ms")
	const clients, each = 3, 20
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				line := fmt.Sprint(c, " ", i)
				if got := p.prints("run", "echo "+line); got != line {
					t.Errorf("%q, want %q", got, line)
				}
			}
		})
	}
	all.Wait()
	p.awaitIdle()
	require.Len(t, strings.Fields(p.prints("run", "troupe ps -a -q")), clients*each+1)
	ready, _ := p.daemons()
	require.Greater(t, ready, 1)
}

// A command runs in its own process if it is asked to by its flag, the variable or the setting. A
// flag that needs the daemon wins over the latter two.
func TestCommandsRunAlone(t *testing.T) {
	t.Parallel()
	p := starter(t, "1m")
	where := "echo $TROUPE_JOB_ID"
	alone := func(env string, args ...string) string {
		q := p.beside(args...)
		q.Env = append(q.Env, env)
		q.start()
		text := q.rest()
		q.ends(0)
		require.Empty(t, q.err.String())
		return strings.TrimSpace(text)
	}
	require.Equal(t, "local-1", alone("", "run", "--no-daemon", where))
	require.Equal(t, "local-1", alone("TROUPE_NO_DAEMON=1", "run", where))
	require.NoFileExists(t, p.file("troupe/daemon.log"))
	require.Equal(t, "j1", alone("TROUPE_NO_DAEMON=0", "run", where))
	require.Equal(t, "local-1", alone("TROUPE_NO_DAEMON=1", "run", where), "beside a daemon")
	require.Equal(t, "j2", alone("TROUPE_NO_DAEMON=1", "run", "-b", where))
	setting := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(setting, []byte("no_daemon = true\n"), 0o600))
	require.Equal(t, "local-1", alone("TROUPE_CONFIG="+setting, "run", where))
	wrong := p.beside("run", where)
	wrong.Env = append(wrong.Env, "TROUPE_NO_DAEMON=maybe")
	wrong.start().ends(2)
	wrong.err.has(t, `TROUPE_NO_DAEMON is "maybe"; set it to 1 or 0`)
}
