package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/gateway/webhook"
)

// receiver is the server of a URL.
type receiver struct {
	*httptest.Server
	t    *testing.T
	mu   sync.Mutex
	got  []received
	came chan struct{}            // one for each that came
	do   func(n int) (status int) // answers the nth; nil: 200
	slow time.Duration            // an answer takes up to this
}

// received is one request.
type received struct {
	id     string
	seq    uint64
	job    string
	header http.Header
	body   []byte
	status int
}

// receives starts one; changes are made to it before.
func receives(t *testing.T, do func(n int) int, changes ...func(*receiver)) *receiver {
	t.Helper()
	r := &receiver{t: t, do: do, came: make(chan struct{}, 4096)}
	r.Server = httptest.NewUnstartedServer(r)
	for _, change := range changes {
		change(r)
	}
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender was killed meanwhile
	}
	var event struct {
		Seq uint64
		Job struct{ ID string }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		r.t.Errorf("%v: %q", err, body)
	}
	r.mu.Lock()
	status := http.StatusOK
	if r.do != nil {
		status = r.do(len(r.got) + 1)
	}
	r.got = append(r.got, received{id: q.Header.Get("Webhook-Id"), seq: event.Seq, job: event.Job.ID, header: q.Header, body: body, status: status})
	r.mu.Unlock()
	if r.slow > 0 {
		select {
		case <-time.After(rand.N(r.slow)):
		case <-q.Context().Done():
			return
		}
	}
	w.WriteHeader(status)
	r.came <- struct{}{}
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// notified waits until all notices of these jobs are delivered or given up, and returns
// them by job id. One stream of events is enough for all.
func (p *process) notified(ids ...string) map[string][]map[string]any {
	p.t.Helper()
	all := map[string][]map[string]any{}
	events := p.beside("events", "-f", "--after", "0", "--json").start()
	for len(all) < len(ids) {
		var e struct {
			Event string
			Job   struct {
				ID       string
				OnFinish []map[string]any `json:"on_finish"`
			}
		}
		require.NoError(p.t, json.Unmarshal([]byte(events.line()), &e))
		pending := func(n map[string]any) bool { return n["state"] == "pending" }
		if e.Event == "command_notified" && slices.Contains(ids, e.Job.ID) && !slices.ContainsFunc(e.Job.OnFinish, pending) {
			all[e.Job.ID] = e.Job.OnFinish
		}
	}
	return all
}

// The end of a command is posted to its URL, signed with the secret of the daemon;
// what has failed before is tried again, under the same id; and the record tells.
func TestOnFinishURL(t *testing.T) {
	t.Parallel()
	r := receives(t, func(n int) int {
		if n == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusAccepted
	})
	d := serves(t, nil)
	p := d.beside("run", "--on-finish", r.URL+"/hook?x=1", "--name", "told", "echo hello; exit 3").start()
	require.Equal(t, "hello\n", p.rest())
	p.ends(3)
	<-r.came
	<-r.came
	list := d.notified("j1")["j1"]
	got := r.all()
	require.Len(t, got, 2)
	require.Equal(t, got[0].id, got[1].id)
	secret, err := webhook.Secret(d.file("troupe/webhook-secret"))
	require.NoError(t, err)
	for _, g := range got {
		stamp := g.header.Get(webhook.TimestampHeader)
		require.Equal(t, webhook.Sign(secret, g.header.Get(webhook.IDHeader), stamp, g.body), g.header.Get(webhook.SignatureHeader))
		require.Contains(t, string(g.body), `"exit_code":3`)
		require.Contains(t, string(g.body), `"bytes":6`)
	}
	require.Equal(t, "delivered", list[0]["state"])
	require.EqualValues(t, 2, list[0]["tries"])
	show := d.beside("show", "told").start()
	require.Contains(t, show.rest(), "hook?x=1: delivered at attempt 2")
	show.ends(0)
	events := d.beside("events", "--job", "j1").start()
	require.Contains(t, events.rest(), "notified (exited 3); "+r.URL+"/hook?x=1 delivered at attempt 2")
	events.ends(0)
	record := d.record("told")
	require.NotContains(t, record, "webhook-secret")
}

// Notices to a URL that has gone for good are given up, and the record says so.
func TestOnFinishGivenUp(t *testing.T) {
	t.Parallel()
	r := receives(t, func(int) int { return http.StatusGone })
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "told", "--on-finish", r.URL, "true").start().ends(0)
	n := d.notified("j1")["j1"][0]
	require.Equal(t, "given_up", n["state"])
	require.Equal(t, "http_410", n["error"].(map[string]any)["reason"])
	show := d.beside("show", "told").start()
	require.Contains(t, show.rest(), "given up: the URL answered 410 Gone")
	show.ends(0)
}

// A notice runs a command as a job of its own, in the directory of the first job, with
// the record as its input. Its failure is reported.
func TestOnFinishCommand(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := d.beside("run", "--on-finish", "cat > told; echo done", "--on-finish", "echo no >&2; exit 7", "--name", "first", "exit 3").start()
	p.ends(3)
	list := d.notified("j1")["j1"]
	require.Equal(t, "delivered", list[0]["state"])
	require.Equal(t, "given_up", list[1]["state"])
	text, err := os.ReadFile(d.file("told"))
	require.NoError(t, err)
	var told map[string]any
	require.NoError(t, json.Unmarshal(text, &told))
	shown := d.record("first")
	for _, field := range []string{"on_finish", "seq", "output"} { // which went on, or were looked at
		delete(told, field)
		delete(shown, field)
	}
	require.Equal(t, shown, told)
	failed := list[1]["error"].(map[string]any)
	require.Regexp(t, `: job j\d+, exit 7$`, failed["message"])
	ps := d.beside("ps", "-a", "--scope", "notify", "--json").start()
	require.Contains(t, ps.rest(), `"scope":"notify"`)
	ps.ends(0)
	nested := d.beside("run", "--scope", "notify", "--on-finish", "true", "true").start()
	nested.err.has(t, "would cause another")
	nested.ends(cli.StatusOwn)
}

// At most 1 MiB of the output of a notice's command is kept, in one stream or two. The
// notice is delivered.
func TestOnFinishOutputIsBounded(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := d.beside("run", "--on-finish", "head -c 8000000 /dev/zero", "--on-finish", "head -c 4000000 /dev/zero >&2; head -c 4000000 /dev/zero", "true").start()
	p.ends(0)
	for _, notice := range d.notified("j1")["j1"] {
		require.Equal(t, "delivered", notice["state"])
	}
	ps := d.beside("ps", "-a", "--scope", "notify", "--json").start()
	var list struct {
		Jobs []struct {
			Output map[string]struct {
				Bytes  int64
				Elided []struct{ From, To int64 }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(ps.rest()), &list))
	ps.ends(0)
	require.Len(t, list.Jobs, 2)
	for _, job := range list.Jobs {
		kept := job.Output["merged"].Bytes
		require.EqualValues(t, 8000000, kept)
		for _, gap := range job.Output["merged"].Elided {
			kept -= gap.To - gap.From
		}
		require.LessOrEqual(t, kept, int64(1<<20))
	}
}

// Notices run commands even if the directory has gone by then, or the record does not fit
// into a pipe.
func TestOnFinishCommandElsewhere(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	dir, out := d.file("gone"), d.file("out")
	require.NoError(t, os.Mkdir(dir, 0o700))
	p := d.beside().bash("printf 'rmdir " + dir + "; : %s' $(head -c 300000 /dev/zero | tr '\\0' x) | troupe run -C " + dir + " --name first --on-finish 'wc -c > " + out + "' -f -")
	p.start().ends(0)
	require.Equal(t, "delivered", d.notified("j1")["j1"][0]["state"])
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(strings.TrimSpace(string(text))), len("300000"))
}

// However often the daemon is killed between an end and its notice, the notice comes,
// each under one number of its own, and once it is known to be taken never again. A
// command is run once for each.
func TestFaultOnFinishAcrossDeaths(t *testing.T) {
	t.Parallel()
	const rounds = 20
	r := receives(t, nil, func(r *receiver) { r.slow = 20 * time.Millisecond })
	d := serves(t, nil)
	log := d.file("commands")
	for range rounds {
		p := d.beside("run", "-b", "--on-finish", r.URL, "--on-finish", "cat >> "+log, "true").start()
		p.rest()
		p.ends(0)
		<-time.After(rand.N(30 * time.Millisecond)) // the instant is any
		d.send(syscall.SIGKILL)
		<-d.ended
		d = d.beside("serve").start()
		d.err.has(t, `"message":"ready"`)
	}
	t.Cleanup(func() { d.swept() })
	var jobs struct {
		Jobs []struct {
			ID    string
			Scope string
			State string
		}
	}
	ps := d.beside("ps", "-a", "--scope", "main", "--json").start()
	require.NoError(t, json.Unmarshal([]byte(ps.rest()), &jobs))
	require.Len(t, jobs.Jobs, rounds)
	ids := make([]string, 0, rounds)
	for _, j := range jobs.Jobs {
		ids = append(ids, j.ID)
	}
	for id, list := range d.notified(ids...) {
		for _, n := range list {
			require.Equal(t, "delivered", n["state"], "%s: %v", id, n)
		}
	}
	byID, byJob := map[string]int{}, map[string]map[string]bool{}
	for _, g := range r.all() {
		byID[g.id]++
		if byJob[g.job] == nil {
			byJob[g.job] = map[string]bool{}
		}
		byJob[g.job][g.id] = true
	}
	require.Len(t, byJob, rounds)
	again := 0
	for job, ids := range byJob {
		require.Len(t, ids, 1, "the numbers of %s", job)
	}
	for _, n := range byID {
		again += n - 1
	}
	t.Logf("%d ends, %d of them were sent again", rounds, again)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	told := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var job struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(line), &job))
		told[job.ID]++
	}
	require.Len(t, told, rounds)
	for job, n := range told {
		require.Equal(t, 1, n, "the command was run for %s", job)
	}
	before := len(r.all())
	d.send(syscall.SIGKILL)
	<-d.ended
	d = d.beside("serve").start()
	d.err.has(t, `"message":"ready"`)
	p := d.beside("run", "--on-finish", r.URL, "true").start()
	p.ends(0)
	last := newest(t, d)
	require.Len(t, d.notified(last)[last], 1)
	require.Len(t, r.all(), before+1)
}

// newest is the id of the job that was asked for last in main.
func newest(t *testing.T, d *process) string {
	t.Helper()
	ps := d.beside("ps", "-a", "-q", "--scope", "main").start()
	ids := strings.Fields(ps.rest())
	ps.ends(0)
	require.NotEmpty(t, ids)
	best := ids[0]
	for _, id := range ids {
		if len(id) > len(best) || len(id) == len(best) && id > best {
			best = id
		}
	}
	return best
}

// A daemon that is to end does not wait for a URL that hangs, and the next one tells
// it; one that ends with its jobs waits no longer than two seconds.
func TestOnFinishDoesNotHoldTheDaemon(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	entered := make(chan struct{}, 16)
	r := receives(t, nil, func(r *receiver) {
		r.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			entered <- struct{}{}
			select {
			case <-hold:
				r.ServeHTTP(w, q)
			case <-q.Context().Done():
			}
		})
	})
	d := serves(t, nil)
	d.beside("run", "--on-finish", r.URL, "true").start().ends(0)
	<-entered
	begun := time.Now()
	d.send(syscall.SIGTERM)
	d.ends(0)
	require.Less(t, time.Since(begun), webhook.DefaultTimeout*2/3) // it did not wait for the try
	d = d.beside("serve").start()
	d.err.has(t, `"message":"ready"`)
	<-entered
	begun = time.Now()
	d.beside("shutdown", "--stop-jobs").start().ends(0)
	d.ends(0)
	require.Less(t, time.Since(begun), webhook.DefaultTimeout*2/3)
	close(hold)
	d = d.beside("serve").start()
	t.Cleanup(func() { d.swept() })
	d.err.has(t, `"message":"ready"`)
	<-r.came
	require.Equal(t, "delivered", d.notified("j1")["j1"][0]["state"])
}

// A daemon whose secret is not its user's alone does not start, and says why.
func TestSecurityOnFinishSecret(t *testing.T) {
	t.Parallel()
	p := program(t, "serve")
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "troupe"), 0o700))
	require.NoError(t, os.WriteFile(p.file("troupe/config.toml"), []byte("[notify]\nsecret_file = \""+p.file("secret")+"\"\n"), 0o600))
	require.NoError(t, os.WriteFile(p.file("secret"), []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o644))
	p.start()
	p.err.has(t, "must be a file of yours with mode 0600")
	p.ends(cli.StatusOwn)
}
