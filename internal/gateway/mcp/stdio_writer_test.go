package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// full is a host with more events than a client reads. It reports what it is asked.
type full struct {
	*node
	jobs chan messages.ListJobs
}

func (h *full) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if list, ok := r.(messages.ListJobs); ok {
		h.jobs <- list
	}
	return played(ctx, h.node, r)
}

// Facts has a page of ends after any number.
func (h *full) Facts(_ context.Context, r messages.Subscribe, most int) (FactPage, error) {
	p := FactPage{Next: r.After + messages.Seq(most), More: true}
	for n := range most {
		p.Facts = append(p.Facts, messages.Notification{Seq: r.After + messages.Seq(n) + 1, Fact: messages.CommandFinished{}.With(messages.Record{
			ID: "j1", UID: "UID-j1", Scope: h.scope(), Command: strings.Repeat("x", 1000), State: messages.Finished,
		}).(messages.CommandFinished)})
	}
	return p, nil
}

// unread is a client on pipes without a buffer: a write of the server waits for its read.
type unread struct {
	*testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	host *full
	done chan error // the end of the server
}

// unreading serves a client with an open stream of events, of which it has read none.
func unreading(t *testing.T) *unread {
	t.Helper()
	h := &full{newNode(), make(chan messages.ListJobs, 4)}
	s := New(Options{Host: h, Scope: "mcp"})
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	u := &unread{t, in, bufio.NewReaderSize(out, 64<<10), h, make(chan error, 1)}
	go func() { u.done <- s.Serve(t.Context(), fromClient, toClient) }()
	t.Cleanup(func() {
		_, _ = in.Close(), out.Close()
		s.Close()
	})
	u.write(`{"jsonrpc":"2.0","id":"s","method":"events/stream","params":{"name":"job.finished","cursor":"x:0","_meta":%s}}`, ofRevision)
	synctest.Wait()
	return u
}

// ofRevision is _meta of a request without a session.
const ofRevision = `{"io.modelcontextprotocol/protocolVersion":"` + firstWithRounds + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"unread","version":"1"}}`

func (u *unread) write(format string, args ...any) {
	u.Helper()
	_, err := fmt.Fprintf(u.in, format+"\n", args...)
	require.NoError(u, err)
}

// list calls the tool list.
func (u *unread) list(id string) {
	u.Helper()
	u.write(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"list","arguments":{},"_meta":%s}}`, id, ofRevision)
}

// reads returns the next message.
func (u *unread) reads() (m struct {
	ID     any
	Method string
	Error  *struct{ Message string }
},
) {
	u.Helper()
	line, err := u.out.ReadBytes('\n')
	require.NoError(u, err)
	require.NoError(u, json.Unmarshal(line, &m))
	return m
}

// A client that does not read its stream is served: what it asks is done, also after a line that
// is invalid, and a reply is the next message that it reads. The rest of the stream follows.
func TestFaultAnMCPClientDoesNotReadItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unreading(t)
		u.write("{")
		u.list("a")
		<-u.host.jobs
		u.list("b")
		<-u.host.jobs
		synctest.Wait()
		require.Equal(t, "notifications/events/active", u.reads().Method, "it was being written")
		require.NotNil(t, u.reads().Error)
		require.ElementsMatch(t, []any{"a", "b"}, []any{u.reads().ID, u.reads().ID})
		for range 250 {
			require.Equal(t, "notifications/events/event", u.reads().Method)
		}
		u.list("c")
		<-u.host.jobs
		synctest.Wait()
		require.Contains(t, []any{u.reads().ID, u.reads().ID}, "c", "one message may have been written before")
	})
}

// A client that leaves without having read ends its server, after five seconds.
func TestFaultAnMCPClientLeavesUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unreading(t)
		u.list("a")
		<-u.host.jobs
		left := time.Now()
		require.NoError(t, u.in.Close())
		require.NoError(t, <-u.done)
		require.Equal(t, flushPatience, time.Since(left))
	})
}

// A client gets the replies that it has not read when it closes its input.
func TestRepliesComeAfterTheEndOfTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unreading(t)
		for n := range 100 {
			u.write(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)
		}
		synctest.Wait()
		require.NoError(t, u.in.Close())
		u.reads() // of the stream
		ids := map[any]bool{}
		for range 100 {
			ids[u.reads().ID] = true
		}
		require.Len(t, ids, 100)
		require.NoError(t, <-u.done)
	})
}

// Of a client that does not read its replies nothing more is read when there are 1,024 of them. It
// has each when it reads again.
func TestUnreadRepliesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 4000
		u := unreading(t)
		var written atomic.Int64
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for n := range all {
				if _, err := fmt.Fprintf(u.in, `{"jsonrpc":"2.0","id":"%d","method":"ping"}`+"\n", n); err != nil {
					return
				}
				written.Add(1)
			}
		}()
		synctest.Wait()
		require.Less(t, written.Load(), int64(maxUnread+maxPending))
		for replies := 0; replies < all; {
			if m := u.reads(); m.ID != nil && m.Method == "" {
				replies++
			}
		}
		<-sent
	})
}

// Nor is anything read when they have 16 MiB.
func TestUnreadBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, in := io.Pipe()
		w := newStdioWriter(in, nil, make(chan struct{}))
		go w.run()
		line := bytes.Repeat([]byte("x"), 1<<20)
		for range maxUnreadBytes>>20 + 1 { // one is being written
			require.NoError(t, w.reply(nil, line))
			synctest.Wait()
		}
		room := make(chan bool)
		go func() { room <- w.awaitRoom() }()
		synctest.Wait()
		require.Empty(t, room)
		_, err := io.CopyN(io.Discard, out, 1<<20+1)
		require.NoError(t, err)
		require.True(t, <-room)
		require.NoError(t, out.Close())
		<-w.ended
		require.ErrorIs(t, w.reply(nil, line), io.ErrClosedPipe)
	})
}
