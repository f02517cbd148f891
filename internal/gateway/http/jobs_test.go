package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// A run is answered when the command has ended, with the record that the node
// has of it.
func TestRunToItsEnd(t *testing.T) {
	d := start(t, nil)
	result, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "echo out; echo err >&2; exit 3"}, Labels: messages.Labels{Name: "three", Tag: "a tag"}, Timeout: time.Minute}, client.WithText(1000))
	require.NoError(t, err)
	require.Equal(t, "out\nerr\n", result.Text.Text)
	require.False(t, result.Text.Truncated)
	job := result.Job
	require.Equal(t, messages.Exited, job.End.Outcome)
	require.Equal(t, 3, job.ExitCode())
	require.Equal(t, int64(8), job.Output[0].Bytes)

	d.retired(job.ID) // behind that nothing of the record changes
	there, err := d.client.Job(t.Context(), "three")
	require.NoError(t, err)
	here, err := d.node.Job(t.Context(), job.ID)
	require.NoError(t, err)
	here.StartTime, here.Principal, here.Seq = 0, "", there.Seq // what is not told, and what went on
	here.End.Rusage.User, here.End.Rusage.System = here.End.Rusage.User.Truncate(time.Millisecond), here.End.Rusage.System.Truncate(time.Millisecond)
	want, err := here.MarshalJSON()
	require.NoError(t, err)
	got, err := there.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Equal(t, here.ExitCode(), there.ExitCode())
}

// The ways a job can end keep their exit status on the wire.
func TestRunEndings(t *testing.T) {
	d := start(t, nil)
	for _, c := range []struct {
		name    string
		run     messages.RunCommand
		outcome messages.Outcome
		status  int
	}{
		{"exits", messages.RunCommand{Program: messages.Program{Text: "exit 7"}}, messages.Exited, 7},
		{"a signal", messages.RunCommand{Program: messages.Program{Text: "kill -SEGV $$"}}, messages.Signaled, 139},
		{"a deadline", messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Timeout: 50 * time.Millisecond, Grace: -1}, messages.TimedOut, 124},
		{"not found", messages.RunCommand{Program: messages.Program{Argv: []string{"/nowhere/at/all"}}}, messages.FailedToStart, 127},
		{"a directory", messages.RunCommand{Program: messages.Program{Argv: []string{"/"}}}, messages.FailedToStart, 126},
		{"not executable", messages.RunCommand{Program: messages.Program{Argv: []string{"/etc/passwd"}}}, messages.FailedToStart, 126},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := d.client.Run(t.Context(), c.run)
			require.NoError(t, err)
			require.Equal(t, c.outcome, result.Job.End.Outcome)
			require.Equal(t, c.status, result.Job.ExitCode())
			here, err := d.node.Job(t.Context(), result.Job.ID)
			require.NoError(t, err)
			require.Equal(t, here.ExitCode(), result.Job.ExitCode())
			require.Equal(t, here.End.Shell(), result.Job.End.Shell())
		})
	}
}

// All that a request can say arrives: the job sees it.
func TestRunRequest(t *testing.T) {
	d := start(t, nil)
	dir := t.TempDir()
	job := d.background(messages.RunCommand{
		Program: messages.Program{Argv: []string{"bash", "-c", `echo "$A|$PWD|$(umask)|$B"; cat; echo gone >&2`}}, Dir: dir,
		Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"PATH=/usr/bin:/bin", "B=\xff\xfe"}, Set: []string{"A=a b"}}, Umask: "0027",
		Stdio: messages.Stdio{Streams: messages.SeparateStreams, Stdin: messages.StdinPipe}, Scope: "main/sub", Session: "s", Labels: messages.Labels{Description: "says what it was told"},
	})
	require.Equal(t, messages.ModeAsync, job.Mode)
	_, err := d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte("text\n")})
	require.NoError(t, err)
	through, err := d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte{0xff, 0, '\n'}})
	require.NoError(t, err)
	require.Equal(t, int64(8), through)
	require.NoError(t, d.client.CloseInput(t.Context(), job.ID))
	job = d.awaits(job.ID, messages.Condition{})
	require.Equal(t, "a b|"+dir+"|0027|\xff\xfe\ntext\n\xff\x00\n", d.output(job.ID, client.Range{Stream: messages.Stdout, Follow: true}))
	require.Equal(t, "gone\n", d.output(job.ID, client.Range{Stream: messages.Stderr}))
	require.Equal(t, messages.ScopePath("main/sub"), job.Scope)
	require.Equal(t, "says what it was told", job.Description)
}

// output reads all of an output.
func (d *daemon) output(id messages.JobID, what client.Range) string {
	d.t.Helper()
	o, err := d.client.Output(d.t.Context(), id, what)
	require.NoError(d.t, err)
	defer o.Close()
	b, err := io.ReadAll(o)
	require.NoError(d.t, err)
	return string(b)
}

// A job is answered for early when it is promoted, by its budget or by hand, and
// lives on without its caller.
func TestRunPromoted(t *testing.T) {
	d := start(t, nil)
	result, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "read x; echo $x"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, PromoteAfter: 10 * time.Millisecond})
	require.NoError(t, err)
	require.True(t, result.Job.Background)
	require.False(t, result.Job.State.Ended())
	_, err = d.client.Input(t.Context(), messages.WriteInput{Job: result.Job.ID, Data: []byte("word\n")})
	require.NoError(t, err)
	require.Equal(t, messages.Exited, d.awaits(result.Job.ID, messages.Condition{}).End.Outcome)

	told, done := make(chan messages.JobID, 1), make(chan error, 1)
	go func() {
		_, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "sleep 60"}}, client.WithID(func(id messages.JobID) { told <- id }))
		done <- err
	}()
	id := <-told
	promoted, err := d.client.Promote(t.Context(), messages.PromoteCommand{Job: id})
	require.NoError(t, err)
	require.True(t, promoted.Background)
	require.NoError(t, <-done)
	_, err = d.client.Promote(t.Context(), messages.PromoteCommand{Job: id}) // B60: it is there already
	require.NoError(t, err)
}

// A client that goes away takes its foreground job with it, and no other.
func TestFaultClientVanishes(t *testing.T) {
	d := start(t, nil)
	left := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	ctx, vanish := context.WithCancel(t.Context())
	told, done := make(chan messages.JobID, 1), make(chan error, 1)
	go func() {
		_, err := d.client.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "trap 'exit 9' TERM; sleep 60 & wait"}}, client.WithID(func(id messages.JobID) { told <- id }))
		done <- err
	}()
	id := <-told
	vanish()
	require.ErrorIs(t, <-done, context.Canceled)
	job := d.awaits(id, messages.Condition{})
	require.Equal(t, messages.Cancelled, job.End.Outcome)
	require.Equal(t, messages.ByClient, job.End.Cause.By)
	other, err := d.client.Job(t.Context(), left.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, other.State)
}

// The same key and request again is the same job; another request is a conflict.
func TestRunOnceByKey(t *testing.T) {
	d := start(t, nil)
	file := t.TempDir() + "/runs"
	r := messages.RunCommand{Program: messages.Program{Text: "echo once >> " + file}, Key: "k1"}
	first, err := d.client.Run(t.Context(), r)
	require.NoError(t, err)
	again, err := d.client.Run(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, first.Job.UID, again.Job.UID)
	require.Equal(t, "once\n", d.output(d.background(messages.RunCommand{Program: messages.Program{Text: "cat " + file}}).ID, client.Range{Follow: true}))
	_, err = d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}, Key: "k1"})
	coded(t, err, messages.Conflict, "key")
}

// A list shows what is there; a removed job is gone.
func TestListAndRemove(t *testing.T) {
	d := start(t, nil)
	one := d.run("true")
	d.retired(one.ID)
	two := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Scope: "other"})
	list, err := d.client.Jobs(t.Context(), messages.ListJobs{})
	require.NoError(t, err)
	require.Len(t, list.Jobs, 1)
	require.Equal(t, two.UID, list.Jobs[0].UID)
	list, err = d.client.Jobs(t.Context(), messages.ListJobs{Scope: "main", Finished: true})
	require.NoError(t, err)
	require.Len(t, list.Jobs, 1)
	require.Equal(t, one.UID, list.Jobs[0].UID)
	list, err = d.client.Jobs(t.Context(), messages.ListJobs{States: []messages.State{messages.Finished}})
	require.NoError(t, err)
	require.Len(t, list.Jobs, 1)

	gone, err := host.Ask(t.Context(), d.client.Host(), messages.RemoveJob{Job: one.ID})
	require.NoError(t, err)
	require.Equal(t, one.UID, gone.Job.UID)
	_, err = d.client.Job(t.Context(), one.ID)
	coded(t, err, messages.NotFound, "")
	_, err = host.Ask(t.Context(), d.client.Host(), messages.RemoveJob{Job: two.ID})
	require.Error(t, err)
}

// Many jobs are removed by few requests: one that cannot be hinders no other.
func TestRemoveAll(t *testing.T) {
	d := start(t, nil)
	var ids []messages.JobID
	for range 3 {
		job := d.run("true")
		d.retired(job.ID)
		ids = append(ids, job.ID)
	}
	live := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	for len(ids) < api.MaxRemoved { // more than may be asked at once
		ids = append(ids, "none")
	}
	ids = append(ids, live.ID)
	gone, refused, err := d.client.RemoveAll(t.Context(), ids)
	require.NoError(t, err)
	require.Len(t, gone, 3)
	require.Equal(t, ids[0], gone[0].ID)
	require.Len(t, refused, len(ids)-3)
	coded(t, refused[0], messages.NotFound, "")
	coded(t, refused[len(refused)-1], messages.Refused, "running")
	list, err := d.client.Jobs(t.Context(), messages.ListJobs{Finished: true})
	require.NoError(t, err)
	require.Len(t, list.Jobs, 1)
}

// Two clients race a stop with the exit: one outcome, one cause, both answered.
func TestFaultStopRacesExit(t *testing.T) {
	d := start(t, nil)
	other, err := client.Dial(t.Context(), d.socket)
	require.NoError(t, err)
	defer other.Close()
	for range 20 {
		job := d.background(messages.RunCommand{Program: messages.Program{Text: "read x; exit 5"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		ends := make(chan error, 3)
		go func() {
			_, err := d.client.Stop(t.Context(), messages.StopCommand{Job: job.ID, Reason: "first"})
			ends <- err
		}()
		go func() {
			_, err := asker{other}.Stop(t.Context(), messages.StopCommand{Job: job.ID, Reason: "second", Grace: -1})
			ends <- err
		}()
		go func() {
			_, err := asker{other}.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte("\n")})
			if errors.As(err, new(*messages.Error)) {
				err = nil // it ended first
			}
			ends <- err
		}()
		for range 3 {
			require.NoError(t, <-ends)
		}
		one, err := d.client.Job(t.Context(), job.ID)
		require.NoError(t, err)
		two, err := asker{other}.Job(t.Context(), job.ID)
		require.NoError(t, err)
		require.True(t, one.State.Ended())
		require.Equal(t, one.End.Outcome, two.End.Outcome)
		require.Equal(t, one.End.Cause, two.End.Cause)
		if one.End.Outcome == messages.Exited {
			require.Equal(t, 5, one.End.Shell())
		} else {
			require.Equal(t, messages.Cancelled, one.End.Outcome)
			require.Contains(t, []string{"first", "second"}, one.End.Cause.Reason)
		}
	}
}

// A list comes in pages, oldest first: each job once, whatever is added meanwhile.
func TestListInPages(t *testing.T) {
	d := start(t, nil)
	var want, got []messages.UID
	for range 5 {
		want = append(want, d.run("true").UID)
	}
	cursor := ""
	for pages := 1; ; pages++ {
		page, err := d.client.Jobs(t.Context(), messages.ListJobs{Finished: true, Limit: 2, Cursor: cursor})
		require.NoError(t, err)
		for _, job := range page.Jobs {
			got = append(got, job.UID)
		}
		if pages == 1 {
			want = append(want, d.run("true").UID)
		}
		if cursor = page.Next; cursor == "" {
			require.Equal(t, 3, pages)
			break
		}
	}
	require.Equal(t, want, got)
	for query, reason := range map[string]string{"limit=0": "limit", "limit=-1": "limit", "limit=10001": "limit", "limit=x": "limit", "cursor=j1": "cursor"} {
		d.refused(t, "GET", "/v1/jobs?"+query, "", 400, messages.InvalidParams, reason)
	}
}

// What the processes of a job do is in the reply if the request asks for it, and only then.
func TestLiveStates(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "read x; true"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for waits := false; !waits; { // no event tells
		found, err := host.Ask(ctx, d.client.Host(), messages.FindJob{Job: job.ID, Live: true})
		require.NoError(t, err)
		require.NotNil(t, found.Job.Live)
		waits = found.Job.WaitingForInput
		require.Equal(t, waits, found.Job.Live.Awaiting == messages.AwaitsInput)
	}
	list, err := host.Ask(ctx, d.client.Host(), messages.ListJobs{Live: true})
	require.NoError(t, err)
	require.True(t, list.Jobs[0].WaitingForInput)
	require.Equal(t, 1, list.Jobs[0].Live.Processes)
	require.Positive(t, list.Jobs[0].Live.Memory)
	require.NotNil(t, list.Jobs[0].Live.Ports)
	for _, r := range []messages.ListJobs{{}, {Finished: true}} {
		list, err = host.Ask(ctx, d.client.Host(), r)
		require.NoError(t, err)
		require.Nil(t, list.Jobs[0].Live)
		require.False(t, list.Jobs[0].WaitingForInput) // no client has asked for reports
	}
	found, err := host.Ask(ctx, d.client.Host(), messages.FindJob{Job: job.ID})
	require.NoError(t, err)
	require.Nil(t, found.Job.Live)
	d.refused(t, "GET", "/v1/jobs?live=1", "", 400, messages.InvalidParams, "live")
}

// stuck is a node whose keeper was stopped: it does not tell how much jobs have
// printed, until it goes on.
type stuck struct {
	http.Node
	asked *atomic.Int64
	goOn  chan struct{}
}

func (s stuck) Measure(jobs []messages.Record) {
	s.asked.Add(1)
	<-s.goOn
	s.Node.Measure(jobs)
}

// A list does not wait for a keeper that was stopped: it has what the node knows. While
// one waits for the sizes, no other does.
func TestAListDoesNotWaitForSizes(t *testing.T) {
	d := start(t, nil)
	over := d.run("echo over")
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "echo hi; exec sleep 600"}})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "hi"})

	s := stuck{http.AdaptNode(d.node), new(atomic.Int64), make(chan struct{})}
	server := http.New(http.Options{Node: s})
	socket := filepath.Join(shortDir(t), "s", "s")
	listener, err := http.Listen(socket)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	c, err := client.Dial(t.Context(), socket)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, c.Close())
		require.NoError(t, server.Close(t.Context()))
		require.NoError(t, <-served)
	}()

	for range 3 {
		list, err := asker{c}.Jobs(t.Context(), messages.ListJobs{Finished: true})
		require.NoError(t, err)
		require.Len(t, list.Jobs, 2)
		require.Equal(t, over.ID, list.Jobs[0].ID)
		require.Equal(t, int64(5), list.Jobs[0].Output[0].Bytes)
		require.Equal(t, messages.Running, list.Jobs[1].State)
		require.Empty(t, list.Jobs[1].Output)
	}
	require.Equal(t, int64(1), s.asked.Load())
	ended, err := asker{c}.Await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}, Timeout: time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, ended.Jobs[0].Output, "a wait does not wait for sizes either")
	close(s.goOn)
	for again := true; again; { // until the first one has heard its answer
		list, err := asker{c}.Jobs(t.Context(), messages.ListJobs{})
		require.NoError(t, err)
		require.Len(t, list.Jobs, 1)
		again = len(list.Jobs[0].Output) == 0
	}
	require.Equal(t, int64(2), s.asked.Load())
}

// A client of HTTP/1.0, such as a proxy that speaks it, knows one reply: it takes an
// announcement for that, and never sees the result.
func TestRunOverHTTP10HasOneReply(t *testing.T) {
	d := start(t, nil)
	conn, err := net.Dial("unix", d.socket)
	require.NoError(t, err)
	defer conn.Close()
	const body = `{"command":"echo hi"}`
	_, err = fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.0\r\nContent-Type: application/json\r\nPrefer: processing\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(got), "HTTP/1.0 200 "), "%s", got)
	require.Equal(t, 1, strings.Count(string(got), "HTTP/1.0"))
}
