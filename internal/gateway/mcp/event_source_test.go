package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp/events"
	"troupe/messages"
)

// ledger is a host with recorded facts.
type ledger struct {
	*node
	facts  []messages.Notification // numbered from 1 on, without gaps but for FactsDropped
	asked  []messages.Subscribe
	away   bool   // until it is asked for facts
	origin string // of its journal
}

func (h *ledger) Events(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	if h.away {
		return func(yield func(messages.Fact, error) bool) { yield(nil, errors.New("the host is away")) }
	}
	return h.node.Events(ctx, filter, begun)
}

func (h *ledger) Do(ctx context.Context, r messages.Refusable) (any, error) {
	return played(ctx, h, r)
}

// Job knows the name build.
func (h *ledger) Job(_ context.Context, id messages.JobID) (messages.Record, error) {
	if id != "build" {
		return messages.Record{}, &messages.Error{Code: messages.NotFound, Reason: "job"}
	}
	return messages.Record{ID: "j1", UID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Scope: h.scope()}, nil
}

func (h *ledger) Facts(_ context.Context, r messages.Subscribe, most int) (FactPage, error) {
	h.asked, h.away = append(h.asked, r), false
	p := FactPage{Next: r.After, Origin: h.origin}
	if r.Now {
		p.Next = h.facts[len(h.facts)-1].Seq
		return p, nil
	}
	for _, f := range h.facts {
		if f.Seq <= r.After {
			continue
		}
		_, gap := f.Fact.(messages.FactsDropped)
		if gap || r.Filter.Passes(f.Fact) {
			if len(p.Facts) == most {
				p.More = true
				return p, nil
			}
			p.Facts = append(p.Facts, f)
		}
		p.Next = f.Seq
	}
	return p, nil
}

// at is the time of every fact.
var at = time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)

func (h *ledger) record(facts ...messages.Fact) {
	last := messages.Seq(len(h.facts))
	for _, f := range facts {
		last++
		if gap, ok := f.(messages.FactsDropped); ok {
			last = gap.To
		}
		h.facts = append(h.facts, messages.Notification{Seq: last, Fact: f})
	}
}

func (h *ledger) ended(id string) messages.CommandFinished {
	return messages.CommandFinished{}.With(messages.Record{ID: messages.JobID(id), UID: messages.UID("UID-" + id), Scope: h.scope(), At: at, State: messages.Finished}).(messages.CommandFinished)
}

// sourced is the source of a client that has its scope.
func sourced(t *testing.T) (*ledger, eventSource) {
	t.Helper()
	h := &ledger{node: newNode()}
	s := eventSource{enteredAt(t, h)}
	return h, s
}

func ids(page events.Page) (all []string) {
	for _, e := range page.Events {
		all = append(all, e.ID)
	}
	return all
}

// Facts of the scope are events with the number in their id and cursor, and the record as
// data; those of other scopes and kinds only advance the cursor.
func TestFactsAreEvents(t *testing.T) {
	h, s := sourced(t)
	elsewhere := messages.CommandFinished{}.With(messages.Record{ID: "j9", Scope: "mcp/other"}).(messages.CommandFinished)
	started := messages.CommandStarted{}.With(messages.Record{ID: "j1", UID: "UID-j1", Scope: h.scope(), At: at}).(messages.CommandStarted)
	h.record(started, h.ended("j1"), elsewhere, h.ended("j2"), elsewhere)
	name := s.scopeName()

	page, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: name + ":0", Max: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j1.2"}, ids(page))
	require.Equal(t, name+":0", page.Start)
	require.Equal(t, name+":2", page.Events[0].Cursor)
	require.Equal(t, at, page.Events[0].At)
	require.True(t, page.More)
	require.False(t, page.Truncated)
	data, err := json.Marshal(page.Events[0].Data)
	require.NoError(t, err)
	var record map[string]any
	require.NoError(t, json.Unmarshal(data, &record))
	require.Equal(t, "j1", record["id"])
	require.InDelta(t, 2, record["seq"], 0)
	for _, field := range []string{"uid", "scope", "command", "state", "outcome", "exit_code"} {
		require.Contains(t, record, field, "the schema names it")
	}

	rest, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: page.Events[0].Cursor, Max: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j2.4"}, ids(rest))
	require.Equal(t, name+":5", rest.Next)

	other, err := s.Read(t.Context(), events.Query{Type: "job.started", Cursor: name + ":0", Max: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j1.1"}, ids(other))

	now, err := s.Read(t.Context(), events.Query{Type: jobFinished, Max: 9})
	require.NoError(t, err)
	require.Equal(t, events.Page{Start: name + ":5", Next: name + ":5"}, now)
	for _, r := range h.asked {
		require.Equal(t, s.scope, r.Filter.Scope, "no query leaves the scope of its client")
	}
}

// A cursor has the origin of its journal, and the host gets it back. Cursors without one, of
// earlier versions, are taken.
func TestCursorsNameTheirJournal(t *testing.T) {
	h, s := sourced(t)
	h.record(h.ended("j1"), h.ended("j2"))
	h.origin = "ORIGIN"
	name := s.scopeName()
	now, err := s.Read(t.Context(), events.Query{Type: jobFinished, Max: 9})
	require.NoError(t, err)
	require.Equal(t, name+":2:ORIGIN", now.Next)
	page, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: name + ":0", Max: 1})
	require.NoError(t, err)
	require.Equal(t, name+":0:ORIGIN", page.Start)
	require.Equal(t, name+":1:ORIGIN", page.Events[0].Cursor)
	require.Empty(t, h.asked[len(h.asked)-1].Origin)
	_, err = s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: page.Next, Max: 1})
	require.NoError(t, err)
	require.Equal(t, messages.Subscribe{After: 1, Origin: "ORIGIN", Filter: messages.Filter{Scope: s.scope, Ends: true}}, h.asked[len(h.asked)-1])
	for _, bad := range []string{name + ":1:O R", name + ":1:\n", name + ":x:ORIGIN", name + ":1:" + strings.Repeat("O", 65)} {
		_, err = s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: bad, Max: 1})
		require.ErrorContains(t, err, "invalid cursor")
	}
}

// A gap ends a page with events; the next page begins after it. So does one from which the
// numbers begin anew, and the cursor of another scope is a gap, too.
func TestGapsOfFacts(t *testing.T) {
	h, s := sourced(t)
	h.record(h.ended("j1"), messages.FactsDropped{From: 2, To: 7})
	h.facts = append(h.facts, messages.Notification{Seq: 8, Fact: h.ended("j8")})
	name := s.scopeName()
	before, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: name + ":0", Max: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j1.1"}, ids(before))
	require.Equal(t, name+":1", before.Next)
	require.True(t, before.More)
	require.False(t, before.Truncated)
	after, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: before.Next, Max: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j8.8"}, ids(after))
	require.Equal(t, name+":7", after.Start)
	require.True(t, after.Truncated)

	h.facts = h.facts[:0]
	h.record(h.ended("j1"))
	foreign, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: "other-123456:0", Max: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"UID-j1.1"}, ids(foreign))
	require.True(t, foreign.Truncated)
	require.Equal(t, name+":1", foreign.Next)
}

// The events of one job are found by its name, also after it was removed by its ULID.
func TestEventsOfOneJob(t *testing.T) {
	h, s := sourced(t)
	h.record(h.ended("j1"))
	for job, want := range map[string]messages.JobID{`"build"`: "01ARZ3NDEKTSV4RRFFQ69G5FAV", `"01BX5ZZKBKACTAV9WEVGEMMVRZ"`: "01BX5ZZKBKACTAV9WEVGEMMVRZ", "null": ""} {
		_, err := s.Read(t.Context(), events.Query{Type: jobFinished, Cursor: "x:0", Max: 9, Arguments: json.RawMessage(`{"job":` + job + `}`)})
		require.NoError(t, err, job)
		require.Equal(t, want, h.asked[len(h.asked)-1].Filter.Job)
	}
}

// A stream of a job by its name stays with that job: later the name can be another's.
func TestEventsOfAJobWhoseNameIsUsedAgain(t *testing.T) {
	h, s := sourced(t)
	h.record(h.ended("j1"))
	q, err := s.Check(t.Context(), &sdk.ServerRequest[*sdk.PingParams]{}, events.Query{Type: jobFinished, Cursor: "x:0", Arguments: json.RawMessage(`{"job":"build"}`)})
	require.NoError(t, err)
	require.JSONEq(t, `{"job":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}`, string(q.Arguments))
}

// Arguments and cursors that no query may have are refused before anything is read.
func TestBadInputOfMCPEventSource(t *testing.T) {
	h, s := sourced(t)
	request := &sdk.ServerRequest[*sdk.PingParams]{}
	for text, q := range map[string]events.Query{
		`there is no job deploy of this client`:   {Arguments: json.RawMessage(`{"job":"deploy"}`)},
		"there is no job":                         {Arguments: json.RawMessage(`{"job":""}`)},
		"job must be a string":                    {Arguments: json.RawMessage(`{"job":5}`)},
		`unknown argument "jobs"`:                 {Arguments: json.RawMessage(`{"jobs":"j1"}`)},
		`invalid cursor "x"`:                      {Cursor: "x"},
		`invalid cursor ":5"`:                     {Cursor: ":5"},
		`invalid cursor "x:-1"`:                   {Cursor: "x:-1"},
		`invalid cursor "x:99999999999999999999"`: {Cursor: "x:99999999999999999999"},
	} {
		q.Type = jobFinished
		_, err := s.Check(t.Context(), request, q)
		require.ErrorContains(t, err, text)
	}
	require.Empty(t, h.asked)
	_, err := s.Check(t.Context(), request, events.Query{Type: jobFinished, Cursor: "x:5"})
	require.NoError(t, err)
}

// A stream is woken by a fact of its client's job, also when the host has come back, and once
// for many.
func TestAStreamIsWoken(t *testing.T) {
	h, s := sourced(t)
	h.record(h.ended("j1"))
	h.away = true
	changed, stop := s.Watch()
	require.NoError(t, s.Follow(t.Context(), events.Query{Type: jobFinished}))
	h.node.facts <- h.ended("j1")
	<-changed
	stop()
	require.Empty(t, s.watchers)
	again, stop := s.Watch()
	defer stop()
	s.wake()
	s.wake()
	<-again
	require.Empty(t, again)
}
