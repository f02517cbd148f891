package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/internal/cli"
)

// daemonEnds are the ways in which a daemon ends while its clients wait: in order, and killed.
var daemonEnds = map[string]func(*testing.T, *process){
	"shutdown": func(_ *testing.T, d *process) { d.beside("shutdown").start().ends(0) },
	"SIGTERM":  func(_ *testing.T, d *process) { d.send(syscall.SIGTERM) },
	"SIGKILL":  func(_ *testing.T, d *process) { d.send(syscall.SIGKILL) },
}

// comesAgain ends the daemon and starts the next one.
func comesAgain(t *testing.T, d *process, end func(*testing.T, *process)) *process {
	t.Helper()
	end(t, d)
	<-d.ended
	next := d.beside("serve").start()
	next.err.has(t, `"message":"ready"`)
	return next
}

// numbers is the output of seq.
func numbers(n int) string {
	var b strings.Builder
	sequence(&b, n)
	return b.String()
}

// read reads the stdout of a process to its end.
func (p *process) read() <-chan string {
	all := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(p.out)
		all <- string(b)
	}()
	return all
}

// connected waits until so many clients are connected.
func (p *process) connected(clients int) {
	p.t.Helper()
	eventually(p.t, "all clients", func() bool { return p.connections() >= clients })
}

// connections counts those of clients.
func (p *process) connections() int {
	p.t.Helper()
	var stats api.Stats
	require.NoError(p.t, json.Unmarshal([]byte(p.beside("stats", "--json").start().rest()), &stats))
	return stats.Connections - 1 // stats is one, too
}

// After the end of a daemon its clients come back to the next one: each has every byte once, and
// the true end. The foreground jobs are not stopped.
func TestFaultClientsComeBack(t *testing.T) {
	t.Parallel()
	for name, end := range daemonEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			ends, releases := gate(t, d.file("h")), gate(t, d.file("i"))
			d.beside("run", "-b", "--name", "object", "read x < h; echo down; exit 6").start().ends(0)
			wait, match := d.beside("wait", "--timeout", "10m", "object").start(), d.beside("wait", "--match", "down", "object").start()
			d.connected(2)
			var opens []func()
			for i := range 3 {
				opens = append(opens, gate(t, d.file(fmt.Sprintf("g%d", i))))
			}
			text := "seq 1 200000; echo begun >&2; read x < g0; seq 1 300000; read x < g1; seq 1 100000; read x < g2; exit 5"
			after := numbers(300_000) + numbers(100_000)
			run := d.beside("run", "--name", "mine", text).start()
			object := d.beside("run", "--json", "--name", "other", "echo up; read x < i; exit 7").start()
			run.err.has(t, "begun")
			eventually(t, "the other job", func() bool {
				p := d.beside("show", "other").start()
				<-p.ended
				return p.ProcessState.Success()
			})
			both, one := d.beside("logs", "-f", "mine").start(), d.beside("logs", "-f", "--stream", "stdout", "mine").start()
			shown := map[*process]<-chan string{object: object.read()}
			for _, p := range []*process{run, both, one} {
				require.Equal(t, "1", p.line())
				shown[p] = p.read()
			}
			for _, open := range opens {
				d = comesAgain(t, d, end)
				open()
			}
			ends()
			releases()
			for p, status := range map[*process]int{run: 5, object: 7, both: 0, one: 0, wait: 6, match: 0} {
				p.ends(status)
			}
			for name, p := range map[string]*process{"run": run, "logs -f": both, "of one stream": one} {
				require.True(t, "1\n"+<-shown[p] == numbers(200_000)+after, name)
			}
			require.Contains(t, <-shown[object], `"outcome":"exited"`)
			require.Equal(t, "exited", d.record("mine")["outcome"])
		})
	}
}

// Input that is sent over the end of a daemon reaches the job once, and so does its end.
func TestFaultInputComesBack(t *testing.T) {
	t.Parallel()
	for name, end := range daemonEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			p := d.beside("run", "tee /dev/stderr | sha256sum | cut -c1-64")
			p.Stdin = r
			p.start()
			require.NoError(t, r.Close()) // a run that has ended breaks the pipe
			defer func() {
				if said := p.err.String(); t.Failed() {
					t.Logf("the end of stderr: %q; %s", said[max(0, len(said)-500):], p.beside("ps", "-a").start().rest())
				}
			}()
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(w, "begun\n"+numbers(200_000))
				sent <- err
			}()
			p.err.has(t, "\n150000\n")
			comesAgain(t, d, end)
			require.NoError(t, <-sent)
			_, err = io.WriteString(w, "last\n")
			require.NoError(t, err)
			require.NoError(t, w.Close())
			want := sha256.Sum256([]byte("begun\n" + numbers(200_000) + "last\n"))
			require.Equal(t, hex.EncodeToString(want[:])+"\n", p.rest())
			p.ends(0)
		})
	}
}

// An attached client comes back with its input lease, at the byte after the last one; so does
// one that watches.
func TestFaultAttachComesBack(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "mine", "echo begun; while read x; do echo got $x; done; exit 3").start().ends(0)
	d.beside("wait", "--match", "begun", "mine").start().ends(0)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	types, watches := d.beside("attach", "mine"), d.beside("attach", "mine")
	types.Stdin = r
	types.start()
	say := func(text string) {
		t.Helper()
		_, err := io.WriteString(w, text+"\n")
		require.NoError(t, err)
		require.Equal(t, "got "+text, types.line())
	}
	say("one")
	watches.start()
	watches.err.has(t, "read-only")
	for name, end := range daemonEnds {
		d.beside("wait", "--input", "mine").start().ends(0) // and the client has heard that its input was written
		d = comesAgain(t, d, end)
		say(name)
		require.Equal(t, "got "+name, watches.line())
	}
	require.NoError(t, w.Close())
	types.ends(3)
	watches.ends(3)
	require.NotContains(t, types.err.String(), "not sent")
	require.Equal(t, 1, strings.Count(watches.err.String(), "\n"), watches.err.String())
}

// The end of input that a daemon did not pass on before its own end reaches the job.
func TestFaultTheEndOfInputComesBack(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "mine", "cat; exit 3").start().ends(0)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	p := d.beside("attach", "mine")
	p.Stdin = r
	p.start()
	require.NoError(t, r.Close())
	_, err = io.WriteString(w, "all\n")
	require.NoError(t, err)
	require.Equal(t, "all", p.line())
	d.beside("wait", "--input", "mine").start().ends(0)
	wrote := func() (n int) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Process.Pid))
		require.NoError(t, err)
		_, after, _ := strings.Cut(string(b), "wchar: ")
		_, err = fmt.Sscan(after, &n)
		require.NoError(t, err)
		return n
	}
	before := wrote()
	stops(t, d.Process.Pid)
	require.NoError(t, w.Close())
	eventually(t, "the request to close the input", func() bool { return wrote() >= before+len(api.AttachCloseInput) })
	comesAgain(t, d, func(_ *testing.T, d *process) { d.send(syscall.SIGKILL) })
	p.ends(3)
}

// A client whose daemon has no successor reports it after a while. Its job goes on, and the next
// daemon stops it if the client is not back in time.
func TestFaultNoDaemonComesBack(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := d.beside("run", "--name", "mine", "echo $$; exec sleep 600").start()
	pid := p.line()
	others := d.connections() // of run, which has shown its output
	w := d.beside("wait", "--timeout", "5s", "mine").start()
	d.connected(others + 1)
	for range 3 { // it is connected; meanwhile it asks, too
		d.beside("ps").start().ends(0)
	}
	d.send(syscall.SIGKILL)
	<-d.ended
	w.ends(124)
	p.ends(cli.StatusOwn)
	p.err.has(t, "the connection to the daemon broke")
	require.True(t, alive(pid))
	d.beside("serve").start().err.has(t, `"message":"ready"`)
	d.beside("wait", "mine").start().ends(130)
	require.False(t, alive(pid))
}

// A daemon that is killed before it has recorded a run has told the client of the job. The next
// one does not know it: requests for its output and input wait until the run is repeated there.
func TestFaultRunThatWasNotRecorded(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	unknown, once := make(chan struct{}), sync.Once{}
	next := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "troupe" },
		FlushInterval: -1,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.socket())
		}},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusNotFound {
				once.Do(func() { close(unknown) })
			}
			return nil
		},
	}
	var runs atomic.Int32
	killed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/jobs" || runs.Add(1) > 1 {
			next.ServeHTTP(w, r)
			return
		}
		var run struct{ UID string }
		_ = json.NewDecoder(r.Body).Decode(&run)
		w.Header().Set("Location", "/v1/jobs/"+run.UID)
		w.WriteHeader(http.StatusProcessing)
		<-unknown
		panic(http.ErrAbortHandler)
	})
	require.NoError(t, os.Mkdir(d.file("first"), 0o700))
	l, err := net.Listen("unix", d.file("first/s"))
	require.NoError(t, err)
	first := &httptest.Server{Listener: l, Config: &http.Server{Handler: killed}} //nolint:gosec // it needs no timeout
	first.Start()
	t.Cleanup(first.Close)

	p := d.beside("run", "cat; echo over; exit 4")
	p.Env = append(p.Env, "TROUPE_SOCKET="+l.Addr().String())
	p.Stdin = strings.NewReader("typed\n")
	p.start()
	require.Equal(t, "typed\nover\n", p.rest())
	p.ends(4)
	require.Empty(t, p.err.String())
}
