package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

const (
	streams = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	closing = `{"v":1,"error":{"code":"shutting_down","message":"the server is closing"}}`
)

// refuses is the answer of a daemon that shuts down, and takes no more.
var refuses = fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%s", len(closing), closing)

// ends is the end of a stream, and why.
func ends(code messages.Code) string {
	return fmt.Sprintf("event: stream_ended\ndata: {\"v\":1,\"event\":\"stream_ended\",\"error\":{\"code\":%q,\"message\":\"it ends\"}}\n\n", code)
}

// begins is the head of a stream of events behind one.
func begins(seq int) string { return streams + fmt.Sprintf("id: %d\n\n", seq) }

// tells is one event.
func tells(seq int) string {
	return fmt.Sprintf("id: %d\nevent: scope_opened\ndata: {\"v\":1,\"event\":\"scope_opened\",\"seq\":%d}\n\n", seq, seq)
}

// life is what a daemon answers to one request for events, and how long it goes on then.
type life struct {
	behind string // what it is asked for: Last-Event-ID, and Troupe-Journal after a space
	says   string // "": nobody listens
	lasts  time.Duration
}

// lives is a client of daemons that follow one another; behind the last of them nobody
// listens. It gives how often was dialed, too.
func lives(t *testing.T, all ...life) (*Client, *int) {
	dialed := 0
	c := &Client{base: "http://troupe"}
	c.http.dial = func(context.Context) (net.Conn, error) {
		dialed++
		if len(all) == 0 || all[0].says == "" {
			all = all[min(1, len(all)):]
			return nil, ErrNoDaemon
		}
		now := all[0]
		all = all[1:]
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			r, err := http.ReadRequest(bufio.NewReader(theirs))
			if behind := strings.TrimSpace(r.Header.Get("Last-Event-ID") + " " + r.Header.Get("Troupe-Journal")); err != nil || behind != now.behind {
				t.Errorf("asked for what is behind %q, want %q (%v)", behind, now.behind, err)
			}
			_, _ = io.WriteString(theirs, now.says[:len(now.says)-1])
			time.Sleep(now.lasts) // of the bubble
			_, _ = io.WriteString(theirs, now.says[len(now.says)-1:])
		}()
		return ours, nil
	}
	t.Cleanup(c.http.close)
	return c, &dialed
}

// heard reads events to their end.
func heard(t *testing.T, c *Client) (seqs []messages.Seq, err error) {
	for e, err := range c.Events(t.Context(), messages.Subscribe{Now: true}) {
		if err != nil {
			return seqs, err
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, nil
}

// A daemon that shuts down in order is waited for as one that dies is, and nothing is
// heard twice or missed; also when nothing has happened since it was waited for last.
func TestEventsOutliveADaemon(t *testing.T) {
	shuts := ends(messages.ShuttingDown)
	synctest.Test(t, func(t *testing.T) {
		c, dialed := lives(t,
			life{"", begins(6) + tells(7) + shuts, 0},
			life{"7", refuses, 0},
			life{},
			life{"7", begins(7) + tells(8) + shuts, time.Hour},
			life{"8", begins(8) + shuts, time.Hour}, // quiet
			life{"8", begins(8) + "\n", time.Hour},  // it dies
			life{"8", begins(8) + tells(8) + tells(9) + shuts, 0},
		)
		seqs, err := heard(t, c)
		require.Equal(t, []messages.Seq{7, 8, 9}, seqs)
		require.ErrorIs(t, err, ErrNoDaemon)
		require.ErrorContains(t, err, "does not come back")
		require.Greater(t, *dialed, 10)
	})
}

// A daemon that dies before it has told anything is waited for, too.
func TestEventsOutliveADaemonThatToldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := lives(t, life{"", "HTTP/1.1 ", 0}, life{}, life{"", begins(6) + tells(7) + ends(messages.Internal), 0})
		seqs, err := heard(t, c)
		require.Equal(t, []messages.Seq{7}, seqs)
		require.ErrorIs(t, err, &messages.Error{Code: messages.Internal})
	})
}

// A daemon whose journal has begun anew is heard from its beginning, and that is told: its
// numbers are those of others.
func TestEventsOfAnotherJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		anew := "event: facts_dropped\ndata: {\"v\":1,\"event\":\"facts_dropped\",\"seq\":0,\"from\":9}\n\n"
		c, _ := lives(t,
			life{"", begins(6) + tells(7) + tells(8) + "\n", 0},
			life{"8", begins(0) + anew + tells(1) + "\n", 0},
			life{"1", begins(1) + tells(2) + "\n", 0},
		)
		seqs, err := heard(t, c)
		require.Equal(t, []messages.Seq{7, 8, 0, 1, 2}, seqs)
		require.ErrorIs(t, err, ErrNoDaemon)
	})
}

// The journal of a number goes back with it. It changes with the first event of the next journal:
// a connection that ends before that has told nothing.
func TestEventsNameTheirJournal(t *testing.T) {
	of := func(journal, says string) string {
		return strings.Replace(says, "text/event-stream", "text/event-stream\r\nTroupe-Journal: "+journal, 1)
	}
	synctest.Test(t, func(t *testing.T) {
		anew := "event: facts_dropped\ndata: {\"v\":1,\"event\":\"facts_dropped\",\"seq\":0,\"from\":9}\n\n"
		c, _ := lives(t,
			life{"", of("A", begins(6)) + "\n", 0},
			life{"6 A", of("A", begins(6)+tells(7)+tells(8)) + "\n", 0},
			life{"8 A", of("B", begins(0)) + "\n", 0},
			life{"8 A", of("B", begins(0)+anew+tells(1)) + "\n", 0},
			life{"1 B", begins(1) + tells(2) + "\n", 0}, // an older daemon
			life{"2", of("C", begins(2)+tells(3)) + "\n", 0},
			life{"3 C", of("C", begins(3)) + ends(messages.Internal), 0},
		)
		seqs, err := heard(t, c)
		require.Equal(t, []messages.Seq{7, 8, 0, 1, 2, 3}, seqs)
		require.ErrorIs(t, err, &messages.Error{Code: messages.Internal})
	})
}

// Who waits gives up after a while, also where a daemon goes on saying that it shuts down.
func TestEventsAreNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := []life{{"", begins(6), 0}}
		for range 100 {
			all = append(all, life{"6", refuses, 0})
		}
		c, dialed := lives(t, all...)
		began := time.Now()
		seqs, err := heard(t, c)
		require.Empty(t, seqs)
		require.ErrorIs(t, err, &messages.Error{Code: messages.ShuttingDown})
		require.ErrorContains(t, err, "does not come back")
		require.InDelta(t, retryFor+retryMost, time.Since(began), float64(retryMost))
		require.Less(t, *dialed, 30)
	})
}

// What a daemon refuses it will refuse again. One that never told anything is not waited for by
// who looks for the daemon itself.
func TestEventsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		all  []life
		code messages.Code
	}{
		"another end of the stream": {[]life{{"", begins(6) + ends(messages.Internal), 0}}, messages.Internal},
		"it never began":            {[]life{{"", refuses, 0}}, messages.ShuttingDown},
	} {
		client, dialed := lives(t, c.all...)
		client.EndWithDaemon()
		_, err := heard(t, client)
		require.ErrorIs(t, err, &messages.Error{Code: c.code}, name)
		require.Equal(t, 1, *dialed, name)
	}
}
