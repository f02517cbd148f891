package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli/config"
)

// beside is the program in the surroundings of another, whose daemon it finds.
func (p *process) beside(args ...string) *process {
	p.t.Helper()
	q := program(p.t, args...)
	q.Dir, q.dir, q.Env = p.dir, p.dir, p.Env
	return q
}

// serves starts a daemon in a directory of its own, and waits until it is ready.
func serves(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := programFor(t, long, append([]string{"serve"}, args...)...)
	p.Env = append(p.Env, env...)
	p.start()
	p.err.has(t, `"message":"ready"`)
	t.Cleanup(func() { p.swept() })
	return p
}

// swept ends the daemon of these surroundings with its jobs, if it lives.
func (p *process) swept() {
	endJobs(p.dir, p.Env)
	<-p.ended
}

// endJobs ends the daemon of some surroundings with its jobs. There may be none.
func endJobs(dir string, env []string) {
	end := exec.Command("troupe", "shutdown", "--stop-jobs", "--grace", "0")
	end.Dir, end.Env = dir, env
	_ = end.Run()
}

// record asks the daemon for a job.
func (p *process) record(job string) map[string]any {
	p.t.Helper()
	show := p.beside("show", "--json", job).start()
	var record map[string]any
	require.NoError(p.t, json.Unmarshal([]byte(show.rest()), &record))
	show.ends(0)
	return record
}

// Ctrl-C asks the command in the daemon, the second one kills it, and the status
// is as without a daemon.
func TestSignalsReachACommandInTheDaemon(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--grace", "1h", ignoresTERM).start().killedBy(syscall.SIGINT, syscall.SIGINT, 130)
	d.beside("run", "--grace", "1h", ignoresTERM).start().killedBy(syscall.SIGTERM, syscall.SIGINT, 143)
	p := d.beside("run", "echo begun; exec sleep 600").start()
	p.line()
	p.send(syscall.SIGINT)
	p.ends(130)
	p.err.has(t, "the command was stopped: interrupted by SIGINT")
}

// A job that is followed shows each line when it comes, and its end.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	run := d.beside("run", "-b", "echo one; read x < gate; echo two").start()
	id := run.line()
	p := d.beside("logs", "-f", "-n", "5", id).start()
	require.Equal(t, "one", p.line())
	open()
	require.Equal(t, "two\n", p.rest())
	p.ends(0)
}

// Events are followed as they happen.
func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	id := d.beside("run", "-b", "read x < gate; exit 3").start().line()
	p := d.beside("events", "-f", "--after", "0", "--ends", "--json").start()
	open()
	var e struct {
		Event string
		Seq   int
		Job   map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(p.line()), &e))
	require.Equal(t, "command_finished", e.Event)
	require.Equal(t, id, e.Job["id"])
	require.Positive(t, e.Seq)
}

// The daemon notifies the service manager when it is ready, that it lives, and that it
// ends.
func TestTheServiceManagerHears(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "n")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	require.NoError(t, err)
	defer heard.Close()
	require.NoError(t, heard.SetReadDeadline(time.Now().Add(tooLong)))
	next := func() string {
		b := make([]byte, 1024)
		n, err := heard.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	d := serves(t, []string{"NOTIFY_SOCKET=" + at, "WATCHDOG_USEC=300000"})
	require.Equal(t, "READY=1", next())
	require.Equal(t, "WATCHDOG=1", next())
	require.Equal(t, "WATCHDOG=1", next())
	d.send(syscall.SIGTERM)
	for word := next(); word != "STOPPING=1"; word = next() {
		require.Equal(t, "WATCHDOG=1", word)
	}
	d.ends(0)
}

// A socket that was handed over is the daemon's, and stays when it has ended.
func TestSocketsAreHandedOver(t *testing.T) {
	t.Parallel()
	p, l, _ := activated(t)
	at := l.Addr().String()
	q := p.beside("run", "echo $TROUPE_SOCKET").start() // the first client finds the socket, ready or not
	require.Equal(t, at, q.line())
	q.ends(0)
	p.beside("shutdown", "--stop-jobs").start().ends(0)
	p.ends(0)
	_, err := os.Stat(at)
	require.NoError(t, err)
}

// activated starts a daemon with a passed socket, as systemd does. It returns the daemon,
// the listener of the test, and the file that the daemon got.
func activated(t *testing.T) (*process, *net.UnixListener, *os.File) {
	t.Helper()
	p := program(t).bash("LISTEN_PID=$$ exec troupe serve")
	require.NoError(t, os.Mkdir(p.file("s"), 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.file("s/s"), Net: "unix"})
	require.NoError(t, err)
	file, err := l.File()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.Close(), file.Close() })
	p.Env = append(p.Env, "LISTEN_FDS=1", "TROUPE_SOCKET="+l.Addr().String())
	p.ExtraFiles = []*os.File{file}
	return p.start(), l, file
}

// The metrics need the token, and a page of a browser cannot read them.
func TestTheNumbersAreTold(t *testing.T) {
	t.Parallel()
	d := serves(t, nil, "--metrics", "127.0.0.1:0")
	address := d.awaitText(`"address":"`, `"`)
	q := d.beside("run", "--scope", "main/ci", "echo hello; exit 3").start()
	q.ends(3)
	token, err := os.ReadFile(filepath.Join(d.dir, "troupe/token"))
	require.NoError(t, err)
	get := func(change func(*http.Request)) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		change(r)
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer reply.Body.Close()
		return reply.StatusCode, readAll(t, reply.Body)
	}
	status, _ := get(func(r *http.Request) { r.Header.Del("Authorization") })
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = get(func(r *http.Request) { r.Host = "evil.example" })
	require.Equal(t, http.StatusForbidden, status)
	status, _ = get(func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	require.Equal(t, http.StatusForbidden, status)
	for _, want := range []string{
		`troupe_jobs{scope="main/ci",state="finished"} 1`, `troupe_job_starts_total{scope="main/ci"} 1`,
		`troupe_job_ends_total{outcome="exited",scope="main/ci"} 1`, `troupe_output_bytes_total{scope="main/ci"} 6`,
		"troupe_queue_wait_seconds_count 1", "troupe_notices_dropped_total 0", "process_open_fds",
	} {
		status, text := get(func(*http.Request) {})
		for late := time.Now().Add(tooLong); !strings.Contains(text, want) && time.Now().Before(late); { // the numbers follow the facts, one by one
			status, text = get(func(*http.Request) {})
		}
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, want)
	}
	_, text := get(func(*http.Request) {})
	require.Contains(t, text, "\ngo_gc_gogc_percent ")
	require.NotContains(t, text, "\ngo_gc_gogc_percent 100\n", "the daemon collects its garbage as the runtime does by itself")
}

// The unit has the settings that the promises of the daemon need: jobs outlive it, and it
// is started again only after a failure.
func TestTheUnitKeepsItsPromises(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../contrib/systemd/troupe.service")
	require.NoError(t, err)
	for _, line := range []string{
		"Type=notify", "Restart=on-failure", "RestartSec=100ms", "WatchdogSec=10", "KillMode=process", "Delegate=yes", "OOMPolicy=continue", "TasksMax=infinity",
		"StartLimitIntervalSec=60", "StartLimitBurst=10",
	} {
		require.Contains(t, "\n"+string(unit), "\n"+line+"\n")
	}
	socket, err := os.ReadFile("../../contrib/systemd/troupe.socket")
	require.NoError(t, err)
	require.Contains(t, string(socket), "\nListenStream=%t/troupe/"+config.SocketName+"\n")
	require.Contains(t, string(socket), "\nSocketMode=0600\n")
}

// awaitText waits for output on stderr between two texts, and returns it.
func (p *process) awaitText(before, after string) string {
	p.t.Helper()
	p.err.has(p.t, before)
	_, rest, _ := strings.Cut(p.err.String(), before)
	word, _, found := strings.Cut(rest, after)
	require.True(p.t, found, p.err.String())
	return word
}

func readAll(t *testing.T, from io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(from)
	require.NoError(t, err)
	return string(b)
}

// A shell that completes the id of a job does not hang with a daemon that does.
func TestCompletionWaitsForNobody(t *testing.T) {
	t.Parallel()
	p := program(t, "__complete", "show", "")
	at := p.file("s")
	l, err := net.Listen("unix", at) // without accept
	require.NoError(t, err)
	defer l.Close()
	p.Env = append(p.Env, "TROUPE_SOCKET="+at)
	begun := time.Now()
	p.start()
	require.Equal(t, ":4\n", p.rest())
	p.ends(0)
	require.Less(t, time.Since(begun), tooLong/4) // the request would never be answered
}

// A job that cannot be started has an empty output, whether its reader or its end comes
// first.
func TestWhatCannotStartHasAnEmptyOutput(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for range 50 {
		p := d.beside("run", "no-such-program", "with", "arguments").start()
		p.ends(127)
		require.NotContains(t, p.err.String(), "not printed")
	}
}
