package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/gateway/http"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// The facts of a job come in their order, each with its number and its record.
func TestEvents(t *testing.T) {
	d := start(t, nil)
	job := d.run("exit 3")
	var kinds []string
	last := messages.Seq(0)
	for e, err := range d.client.Events(t.Context(), messages.Subscribe{Filter: messages.Filter{Job: job.ID}}) {
		require.NoError(t, err)
		require.Greater(t, e.Seq, last)
		require.Equal(t, job.UID, e.Job.UID)
		last = e.Seq
		kinds = append(kinds, e.Kind)
		if e.Kind == "command_retired" {
			break
		}
	}
	require.Equal(t, []string{"command_started", "command_finished", "command_retired"}, kinds[len(kinds)-3:])
}

// Filters, the start from now, and the facts that are of no job.
func TestEventsFiltered(t *testing.T) {
	d := start(t, nil)
	d.run("true")
	heard := make(chan api.Event, 100)
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	open := d.subscribed(ctx, heard, ended, messages.Subscribe{Now: true, Filter: messages.Filter{Scope: "a"}})
	<-open
	d.run("true") // elsewhere
	_, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}, Scope: "a/b", Session: "s"})
	require.NoError(t, err)
	_, err = host.Ask(t.Context(), d.client.Host(), messages.CloseScope{Path: "a", Reason: "done"})
	require.NoError(t, err)
	got := map[string]int{}
	for got[api.ScopeClosed] < 2 {
		e := <-heard
		got[e.Kind]++
		require.NotNil(t, e.Fact())
		if e.Job != nil {
			require.Equal(t, messages.ScopePath("a/b"), e.Job.Scope)
		}
	}
	require.Equal(t, 1, got["command_finished"])
	require.Equal(t, 1, got[api.SessionOpened])
	require.Equal(t, 1, got[api.SessionClosed])
	require.Equal(t, 2, got[api.ScopeOpened])
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)

	for e, err := range d.client.Events(t.Context(), messages.Subscribe{Filter: messages.Filter{Ends: true}}) {
		require.NoError(t, err)
		require.Equal(t, "command_finished", e.Kind)
		require.WithinDuration(t, e.Job.End.At, e.At, time.Minute)
		if e.Job.Scope == "a/b" {
			break
		}
	}
}

// subscribed sends events to a channel; open is closed when nothing more will be
// missed.
func (d *daemon) subscribed(ctx context.Context, heard chan<- api.Event, ended chan<- error, r messages.Subscribe) <-chan struct{} {
	d.t.Helper()
	before, err := d.client.Stats(d.t.Context())
	require.NoError(d.t, err)
	go func() {
		for e, err := range d.client.Events(ctx, r) {
			if err != nil {
				ended <- err
				return
			}
			heard <- e
		}
	}()
	open := make(chan struct{})
	require.Eventually(d.t, func() bool {
		now, err := d.client.Stats(d.t.Context())
		return err == nil && now.Subscriptions > before.Subscriptions
	}, patience, patience/1000)
	close(open)
	return open
}

// A connection that breaks is made again, and nothing is heard twice or missed.
func TestFaultEventsResume(t *testing.T) {
	d := start(t, nil)
	breaker := newBreaker(t, d.socket)
	through, err := client.Dial(t.Context(), breaker.socket)
	require.NoError(t, err)
	defer through.Close()
	const runs = 10
	next, stop := pull(t.Context(), through, messages.Subscribe{Filter: messages.Filter{Ends: true}})
	defer stop()
	last := messages.Seq(0)
	for i := range runs {
		job := d.run(fmt.Sprintf("exit %d", i))
		if i > 0 { // a connection that never told anything is not made again
			breaker.cut()
		}
		e, err := next()
		require.NoError(t, err)
		require.Equal(t, "command_finished", e.Kind)
		require.Equal(t, job.UID, e.Job.UID)
		require.Greater(t, e.Seq, last)
		last = e.Seq
	}
}

// A node that ends in order says so to who listens: another may come.
func TestEventsSayThatTheNodeEnds(t *testing.T) {
	d := start(t, nil)
	reply := d.reply("GET", "/v1/events", "")
	require.NoError(t, d.node.Shutdown(t.Context(), messages.ShutdownNode{}))
	said, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Contains(t, string(said), `"event":"stream_ended","error":{"code":"shutting_down"`)
	d.refused(t, "GET", "/v1/events", "", 503, messages.ShuttingDown, "")
}

// pull gives events one by one.
func pull(ctx context.Context, c *client.Client, r messages.Subscribe) (next func() (api.Event, error), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	heard, ended := make(chan api.Event), make(chan error, 1)
	go func() {
		for e, err := range c.Events(ctx, r) {
			if err != nil {
				ended <- err
				return
			}
			select {
			case heard <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() (api.Event, error) {
		select {
		case e := <-heard:
			return e, nil
		case err := <-ended:
			return api.Event{}, err
		}
	}, cancel
}

// breaker stands between a client and a daemon, and cuts connections.
type breaker struct {
	socket string
	conns  chan net.Conn
}

func newBreaker(t *testing.T, to string) *breaker {
	b := &breaker{socket: filepath.Join(shortDir(t), "b"), conns: make(chan net.Conn, 1000)}
	l, err := net.Listen("unix", b.socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close(); b.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			b.conns <- in
			b.conns <- out
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return b
}

func (b *breaker) cut() {
	for {
		select {
		case c := <-b.conns:
			_ = c.Close()
		default:
			return
		}
	}
}

// A reader that stops holds back nobody, and there are never more than the bound.
func TestFaultEventsReaderStops(t *testing.T) {
	const bound = 32
	d := start(t, func(o *node.Options, _ *http.Options) { o.Limits.Channels = bound })
	var conns []net.Conn
	for range bound {
		conn, err := net.Dial("unix", d.socket)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /v1/events HTTP/1.1\r\nHost: t\r\n\r\n")
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "200")
		conns = append(conns, conn)
	}
	var failed error
	for _, err := range d.client.Events(t.Context(), messages.Subscribe{}) {
		failed = err
		break
	}
	coded(t, failed, messages.ResourceExhausted, "channels")
	require.ErrorContains(t, failed, "limits.channels")
	text := "true #" + strings.Repeat("x", 60_000) // events that fill every buffer soon
	before := heap()
	for range 30 {
		d.run(text)
	}
	require.Less(t, heap()-before, int64(64<<20))
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool {
		now, err := d.client.Stats(t.Context())
		return err == nil && now.Subscriptions == 0
	}, patience, patience/1000)
}

func TestBadInputEvents(t *testing.T) {
	d := start(t, nil)
	d.refused(t, "GET", "/v1/events?after=-1", "", 400, messages.InvalidParams, "after")
	d.refused(t, "GET", "/v1/events?ends=1", "", 400, messages.InvalidParams, "ends")
	d.refused(t, "GET", "/v1/events?scope=..", "", 400, messages.InvalidParams, "scope")
	for _, id := range []string{"x", "-1", "1x", "99999999999999999999999"} {
		reply := d.reply("GET", "/v1/events", "", "Last-Event-ID", id)
		require.Equal(t, 400, reply.StatusCode)
		require.NoError(t, reply.Body.Close())
	}
}

// What the journal no longer holds is told, never left out in silence.
func TestFaultEventsDropped(t *testing.T) {
	d := start(t, func(o *node.Options, _ *http.Options) { o.Journal = journal.NewMemory(3) })
	d.run("true")
	for e, err := range d.client.Events(t.Context(), messages.Subscribe{}) {
		require.NoError(t, err)
		require.Equal(t, api.FactsDropped, e.Kind)
		require.Equal(t, messages.Seq(1), e.From)
		require.GreaterOrEqual(t, e.Seq, e.From)
		break
	}
}

// A number that the journal has not given yet is another's: that is told, and all that
// this one holds, also where that is nothing.
func TestFaultEventsOfAnotherJournal(t *testing.T) {
	d := start(t, nil)
	anew := func(e api.Event) {
		e.Origin = ""
		require.Equal(t, api.Event{Kind: api.FactsDropped, From: 100}, e)
	}
	nothing := d.past(messages.Subscribe{After: 99})
	require.Len(t, nothing, 1)
	anew(nothing[0])
	d.run("true")
	next, stop := pull(t.Context(), d.client.Client, messages.Subscribe{After: 99})
	defer stop()
	for i := range 3 {
		e, err := next()
		require.NoError(t, err)
		if i == 0 {
			anew(e)
		}
		require.Equal(t, messages.Seq(i), e.Seq)
	}
	past := d.past(messages.Subscribe{After: 99, Filter: messages.Filter{Scope: "nowhere"}})
	require.Len(t, past, 1)
	anew(past[0])
}

// What was recorded by now ends by itself, whatever the filter lets through, and
// with what happened to sessions and scopes.
func TestEventsOfThePast(t *testing.T) {
	d := start(t, nil)
	require.Empty(t, d.past(messages.Subscribe{Filter: messages.Filter{Scope: "nowhere"}}))
	job := d.run("true")
	d.retired(job.ID)
	_, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}, Scope: "a", Labels: messages.Labels{Name: "named"}})
	require.NoError(t, err)
	_, err = host.Ask(t.Context(), d.client.Host(), messages.CloseScope{Path: "a"})
	require.NoError(t, err)
	all := d.past(messages.Subscribe{})
	require.Equal(t, api.ScopeClosed, all[len(all)-1].Kind)
	require.Empty(t, d.past(messages.Subscribe{After: all[len(all)-1].Seq}))
	of := d.past(messages.Subscribe{Filter: messages.Filter{Job: job.ID}})
	require.Equal(t, "command_retired", of[len(of)-1].Kind)
	named := d.past(messages.Subscribe{Filter: messages.Filter{Job: "named"}})
	require.Equal(t, "named", named[0].Job.Name)
	require.Len(t, d.past(messages.Subscribe{Filter: messages.Filter{Job: "named", Ends: true}}), 1)
	for _, err := range d.client.PastEvents(t.Context(), messages.Subscribe{Filter: messages.Filter{Job: "nobody"}}) {
		coded(t, err, messages.NotFound, "")
	}
	require.Empty(t, d.past(messages.Subscribe{Filter: messages.Filter{Job: "j99"}})) // it may have been removed
	d.refused(t, "GET", "/v1/events?past=true&now=true", "", 400, messages.InvalidParams, "past")
}

func (d *daemon) past(r messages.Subscribe) []api.Event {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	var out []api.Event
	for e, err := range d.client.PastEvents(ctx, r) {
		require.NoError(d.t, err)
		out = append(out, e)
	}
	return out
}

// A page of the past has where to go on, also after facts that the filter has not let
// through, and says whether more was recorded.
func TestPagesOfEvents(t *testing.T) {
	d := start(t, nil)
	for range 5 {
		d.retired(d.run("true").ID)
	}
	all := d.past(messages.Subscribe{})
	newest := all[len(all)-1].Seq
	ends := messages.Filter{Ends: true}
	var got []messages.UID
	r := messages.Subscribe{Filter: ends}
	for more := true; more; {
		p, err := d.client.EventPage(t.Context(), r, 2)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.Events), 2)
		for _, e := range p.Events {
			require.Equal(t, "command_finished", e.Kind)
			got = append(got, e.Job.UID)
		}
		r.After, more = p.Next, p.More
	}
	require.Len(t, got, 5)
	require.Equal(t, newest, r.After)
	for _, r := range []messages.Subscribe{r, {Now: true}, {Now: true, Filter: ends}, {Filter: messages.Filter{Scope: "nowhere"}}} {
		p, err := d.client.EventPage(t.Context(), r, 2)
		require.NoError(t, err)
		require.Equal(t, client.EventPage{Next: newest, Origin: all[0].Origin}, p)
	}
	p, err := d.client.EventPage(t.Context(), messages.Subscribe{After: newest + 100, Filter: ends}, 9)
	require.NoError(t, err)
	require.Equal(t, api.FactsDropped, p.Events[0].Kind, "numbers of another journal")
	require.Len(t, p.Events, 6)
	require.Equal(t, newest, p.Next)
	_, err = d.client.EventPage(t.Context(), messages.Subscribe{Filter: messages.Filter{Job: "nobody"}}, 1)
	coded(t, err, messages.NotFound, "")
}
