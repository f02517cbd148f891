package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp"
	"troupe/internal/gateway/mcp/events"
	"troupe/internal/test/mcptest"
)

// follower is a client that keeps a cursor, and the ends that it has received.
type follower struct {
	*scribe
	cursor any
	stream int            // the id of the open stream; 0: none
	active bool           // the stream is confirmed
	jobs   map[string]int // ends by job
	last   float64        // the number of the last one
}

// follower starts a server beside a daemon.
func (p *process) follower(revision string) *follower {
	p.t.Helper()
	f := &follower{scribe: p.scribe(), jobs: map[string]int{}}
	if revision == withSessions {
		f.initialized()
	} else {
		f.taking()
	}
	return f
}

// takes takes an end. Its number is above that of the one before.
func (f *follower) takes(event params) {
	f.t.Helper()
	job := event["data"].(params)
	require.Equal(f.t, "job.finished", event["name"])
	require.Equal(f.t, fmt.Sprintf("%s.%.0f", job["uid"], job["seq"]), event["eventId"])
	require.Greater(f.t, job["seq"], f.last)
	require.Equal(f.t, "exited", job["outcome"])
	f.last = job["seq"].(float64)
	f.jobs[job["id"].(string)]++
}

// notices takes a notification of the stream.
func (f *follower) notices(s said) {
	f.t.Helper()
	method, ours := strings.CutPrefix(s.Method, "notifications/events/")
	if !ours {
		return
	}
	require.Equal(f.t, params{sdk.MetaKeySubscriptionID: float64(f.stream)}, s.Params["_meta"])
	switch method {
	case "active":
		require.Equal(f.t, false, s.Params["truncated"])
		f.active = true
	case "event":
		f.takes(s.Params)
	default:
		require.Contains(f.t, []string{"heartbeat", "error"}, method)
	}
	if cursor := s.Params["cursor"]; cursor != nil {
		f.cursor = cursor
	}
}

// asks sends a request, and takes what comes before its answer.
func (f *follower) asks(method string, p params) said {
	f.t.Helper()
	id := f.send(method, p)
	for {
		s := f.hear()
		if s.ID == float64(id) && s.Method == "" {
			require.Nil(f.t, s.Error, f.server.err)
			return s
		}
		f.notices(s)
	}
}

// starts runs some commands in the background.
func (f *follower) starts(jobs int, command string) {
	f.t.Helper()
	for range jobs {
		_, refused := f.asks("tools/call", params{"name": "run", "arguments": params{"command": command, "background": true}}).text(f.t)
		require.False(f.t, refused)
	}
}

// polls polls once.
func (f *follower) polls(most int) {
	f.t.Helper()
	r := f.asks("events/poll", params{"name": "job.finished", "cursor": f.cursor, "maxEvents": most}).Result
	require.Equal(f.t, false, r["truncated"])
	require.LessOrEqual(f.t, len(r["events"].([]any)), most)
	for _, e := range r["events"].([]any) {
		f.takes(e.(params))
	}
	f.cursor = r["cursor"]
}

// opens opens a stream at the cursor.
func (f *follower) opens() {
	f.t.Helper()
	f.stream = f.send("events/stream", params{"name": "job.finished", "cursor": f.cursor})
	for !f.active {
		f.notices(f.hear())
	}
}

// awaits waits for the ends of so many jobs.
func (f *follower) awaits(jobs int) {
	f.t.Helper()
	if f.stream == 0 {
		settles(f.t, "ends that have not come", 0, func() int {
			f.polls(100)
			return jobs - len(f.jobs)
		})
		return
	}
	for len(f.jobs) < jobs {
		f.notices(f.hear())
	}
}

// lines counts the lines of a file.
func (p *process) lines(name string) int {
	text, _ := os.ReadFile(p.file(name)) // it may not be there yet
	return bytes.Count(text, []byte("\n"))
}

// A hundred jobs end before, while and after the daemon is killed: a client that polls, and
// one whose stream is open, get each end once, from the cursor that the client keeps.
func TestFaultMCPEventsOverADeadDaemon(t *testing.T) {
	t.Parallel()
	const before, during, after = 30, 60, 10
	for _, mode := range []string{"poll", "stream"} {
		for _, revision := range []string{withSessions, withRounds} {
			t.Run(mode+" "+revision, func(t *testing.T) {
				t.Parallel()
				m := begins(t)
				f := m.follower(revision)
				f.polls(9)
				require.Empty(t, f.jobs)
				f.starts(before, "exit 3")
				gate := m.file("gate")
				require.NoError(t, syscall.Mkfifo(gate, 0o600))
				open, err := os.OpenFile(gate, os.O_RDWR, 0)
				require.NoError(t, err)
				defer open.Close()
				f.starts(during, "echo >> begun; read x < gate; echo >> through")
				settles(t, "jobs that have not begun", 0, func() int { return during - m.lines("begun") })
				settles(t, "ends that have not come", 0, func() int {
					f.polls(4)
					return before/2 - len(f.jobs)
				})
				if mode == "stream" {
					f.opens()
				}
				stops(t, f.server.Process.Pid) // else it starts the next daemon
				m.killed()
				_, err = open.WriteString(strings.Repeat("\n", during))
				require.NoError(t, err)
				settles(t, "jobs that wait", 0, func() int { return during - m.lines("through") })
				if mode == "stream" { // a poll starts the next daemon by itself
					m.again()
				}
				f.server.send(syscall.SIGCONT)
				f.starts(after, "exit 3")
				f.awaits(before + during + after)
				f.stream = 0
				f.polls(100) // nothing comes twice
				for job, ends := range f.jobs {
					require.Equal(t, 1, ends, job)
				}
				require.Len(t, f.jobs, before+during+after)
				require.NoError(t, f.in.Close())
				f.server.ends(0)
			})
		}
	}
}

// opened is an open stream over HTTP.
type opened struct {
	t   *testing.T
	all chan said
	end context.CancelFunc

	truncated bool
}

// opens opens a stream as a client that agent has connected as.
func (p *port) opens(a *agent, name, revision string, args params) *opened {
	a.t.Helper()
	id := rand.Text() // a session has many streams at a time
	args["_meta"] = params{}
	if revision == withRounds {
		args["_meta"] = params{sdk.MetaKeyProtocolVersion: revision, sdk.MetaKeyClientCapabilities: params{"extensions": params{events.Extension: params{}}}}
	}
	body, err := json.Marshal(params{"jsonrpc": "2.0", "id": id, "method": "events/stream", "params": args})
	require.NoError(a.t, err)
	ctx, end := context.WithCancel(a.t.Context())
	a.t.Cleanup(end)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	require.NoError(a.t, err)
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": revision,
		"Mcp-Session-Id": a.ID(), mcp.ClientHeader: name, "Authorization": "Bearer " + p.token,
	} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	if revision == withRounds {
		r.Header.Set("Mcp-Method", "events/stream")
	}
	reply, err := http.DefaultClient.Do(r)
	require.NoError(a.t, err)
	if reply.StatusCode != http.StatusOK {
		refused, _ := io.ReadAll(reply.Body)
		require.Fail(a.t, "refused", "%d: %s", reply.StatusCode, refused)
	}
	o := &opened{t: a.t, all: make(chan said, 64), end: end}
	go func() {
		defer close(o.all)
		defer reply.Body.Close()
		lines := bufio.NewScanner(reply.Body)
		for lines.Scan() {
			var s said
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(text), &s) == nil && s.Method != "" {
				o.all <- s
			}
		}
	}()
	active := o.next()
	require.Equal(a.t, "notifications/events/active", active.Method)
	require.Equal(a.t, params{sdk.MetaKeySubscriptionID: id}, active.Params["_meta"])
	o.truncated = active.Params["truncated"].(bool)
	return o
}

func (o *opened) next() said {
	o.t.Helper()
	return mcptest.Within(o.t, o.all)
}

// Over HTTP a stream ends with its connection, the next one continues at its cursor, and a
// client sees its own jobs alone: the cursor of another client gives it none of theirs.
func TestSecurityMCPEventsOfAnotherClient(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	for _, revision := range []string{withSessions, withRounds} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			mine, other := web.agent("mine "+revision, revision, nil), web.agent("other "+revision, revision, nil)
			mine.t, other.t = t, t
			ours := web.opens(mine, "mine "+revision, revision, params{"name": "job.finished"})
			theirs := web.opens(other, "other "+revision, revision, params{"name": "job.finished"})
			foreign := other.run(params{"command": "exit 1"}).JobID
			first := mine.run(params{"command": "exit 2", "name": "build"}).JobID

			event := ours.next()
			require.Equal(t, first, event.Params["data"].(params)["id"])
			foreignEvent := theirs.next()
			require.Equal(t, foreign, foreignEvent.Params["data"].(params)["id"])
			ours.end()
			for range ours.all { // until its connection has ended
			}
			second := mine.run(params{"command": "exit 3"}).JobID
			again := web.opens(mine, "mine "+revision, revision, params{"name": "job.finished", "cursor": event.Params["cursor"]})
			require.Equal(t, second, again.next().Params["data"].(params)["id"])

			require.False(t, again.truncated)

			started := web.opens(mine, "mine "+revision, revision, params{"name": "job.started", "cursor": foreignEvent.Params["cursor"], "arguments": params{"job": "build"}})
			require.True(t, started.truncated, "what happened in the other scope is not seen")
			start := started.next().Params
			require.Equal(t, "job.started", start["name"])
			require.Equal(t, first, start["data"].(params)["id"])
		})
	}
}
