package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// daemonLife is what one daemon after another does: it comes after a while, and answers one
// request with a text before its connection breaks. An empty text is no answer.
type daemonLife struct {
	after time.Duration
	asked func(*http.Request) // what it is asked
	says  string
}

// successors is a client of daemons that follow one another.
func successors(t *testing.T, all ...daemonLife) *Client {
	c := &Client{base: "http://troupe"}
	var until time.Time
	c.http.dial = func(context.Context) (net.Conn, error) {
		if len(all) == 0 || time.Now().Before(until) {
			return nil, ErrNoDaemon
		}
		now := all[0]
		all = all[1:]
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			r, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			if now.asked != nil {
				now.asked(r)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(theirs, now.says)
		}()
		if len(all) > 0 {
			until = time.Now().Add(all[0].after)
		}
		return ours, nil
	}
	t.Cleanup(c.http.close)
	return c
}

// says is a reply with a body.
func says(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

const waited = `{"v":1,"satisfied":true,"met":[],"jobs":[]}`

// A request comes back to a daemon that is there in 15 s, after a connection that broke, was
// refused or is crowded. Its first error is the one that it ends with.
func TestARequestComesBack(t *testing.T) {
	full := `{"v":1,"error":{"code":"resource_exhausted","reason":"connections","message":"full"}}`
	refused := `{"v":1,"error":{"code":"invalid_params","message":"it is wrong"}}`
	reply := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	for name, c := range map[string]struct {
		lives []daemonLife
		err   string
		took  time.Duration // at least
	}{
		"at once":        {[]daemonLife{{}, {says: says(waited)}}, "", 0},
		"soon":           {[]daemonLife{{}, {after: 14 * time.Second, says: says(waited)}}, "", 14 * time.Second},
		"too late":       {[]daemonLife{{}, {after: 16 * time.Second, says: says(waited)}}, "EOF", 15 * time.Second},
		"in order":       {[]daemonLife{{says: refuses}, {after: time.Second, says: says(waited)}}, "", time.Second},
		"never":          {[]daemonLife{{says: refuses}}, "the server is closing", 15 * time.Second},
		"crowded":        {[]daemonLife{{}, {says: reply("429 Too Many", full)}, {says: says(waited)}}, "", 0},
		"crowded before": {[]daemonLife{{says: reply("429 Too Many", full)}, {says: says(waited)}}, "full", 0},
		"refused":        {[]daemonLife{{}, {says: reply("400 Bad", refused)}}, "it is wrong", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := successors(t, c.lives...).await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{"j1"}})
				if c.err == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.err)
				}
				require.GreaterOrEqual(t, time.Since(began), c.took)
				require.Less(t, time.Since(began), c.took+time.Second)
			})
		})
	}
}

// A wait comes back with the time that is left, and has timed out if none is.
func TestAWaitComesBackWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan string, 1)
		asked := func(r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			left <- string(b)
		}
		c := successors(t, daemonLife{}, daemonLife{after: 10 * time.Second, asked: asked, says: says(waited)})
		_, err := c.await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Timeout: 12 * time.Second})
		require.NoError(t, err)
		require.Regexp(t, `"timeout_ms":1[0-9]{3}\b|"timeout_ms":2000`, <-left)
		end, err := successors(t, daemonLife{}).await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Timeout: 5 * time.Second})
		require.NoError(t, err)
		require.True(t, end.TimedOut)
	})
}

// A run comes back with the ULID that it made, or with its key.
func TestARunComesBackToItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := make(chan string, 2)
		asked := func(r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies <- string(b) + r.Header.Get(api.KeyHeader)
		}
		for _, r := range []messages.RunCommand{{Program: messages.Program{Text: "true"}}, {Program: messages.Program{Text: "true"}, Key: "k"}} {
			c := successors(t, daemonLife{asked: asked}, daemonLife{after: time.Second, asked: asked, says: says(`{"v":1,"id":"j1","state":"finished"}`)})
			result, err := c.Run(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, messages.JobID("j1"), result.Job.ID)
			first := <-bodies
			require.Equal(t, first, <-bodies)
			require.Regexp(t, `"uid":"[0-9A-Z]{26}"|k$`, first)
		}
	})
}

// A client that finds the next daemon itself has the error at once, and so has one that waits no
// longer.
func TestARequestEndsWithItsDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := successors(t, daemonLife{}, daemonLife{says: says(waited)})
		c.EndWithDaemon()
		_, err := c.await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{"j1"}})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Zero(t, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = successors(t, daemonLife{}).await(ctx, messages.WaitJobs{Jobs: []messages.JobID{"j1"}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// outputReply is a reply with raw output: whole if it names the next byte, else cut off.
func outputReply(offset, size int64, body, next, gaps string) string {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Troupe-Next-Offset, Troupe-Gaps\r\nTroupe-Offset: %d\r\nTroupe-Size: %d\r\n\r\n", offset, size)
	if body != "" {
		head += fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
	}
	if next == "" {
		return head
	}
	return head + "0\r\nTroupe-Next-Offset: " + next + "\r\nTroupe-Gaps: " + gaps + "\r\n\r\n"
}

// wantsQuery checks the query of a request.
func wantsQuery(t *testing.T, query string) func(*http.Request) {
	return func(r *http.Request) {
		if r.URL.RawQuery != query {
			t.Errorf("asked for %s, want %s", r.URL.RawQuery, query)
		}
	}
}

// A follower goes on at the byte after the last one, over broken replies and gaps, and has each
// byte once. A range has its end.
func TestAnOutputComesBackAtItsByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := successors(t,
			daemonLife{asked: wantsQuery(t, "follow=true&offset=10&stream=merged"), says: outputReply(10, 15, "abcde", "", "")},
			daemonLife{after: 10 * time.Second, asked: wantsQuery(t, "follow=true&offset=15&stream=merged"), says: outputReply(15, 15, "", "", "")},
			daemonLife{after: 4 * time.Second, asked: wantsQuery(t, "follow=true&offset=15&stream=merged"), says: outputReply(15, 40, "fg", "30", "17-30")},
			daemonLife{asked: wantsQuery(t, "follow=true&offset=30&stream=merged"), says: outputReply(30, 40, "hi", "32", "")},
		)
		out, err := c.Output(t.Context(), "j1", Range{Offset: 10, Follow: true})
		require.NoError(t, err)
		b, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, "abcdefghi", string(b))
		next, err := out.Next()
		require.NoError(t, err)
		require.EqualValues(t, 32, next)
		gaps, err := out.Gaps()
		require.NoError(t, err)
		require.Equal(t, []messages.OutputGap{{From: 17, To: 30}}, gaps)

		c = successors(t,
			daemonLife{asked: wantsQuery(t, "since=2026-01-02T03%3A04%3A05Z&stream=stdout"), says: outputReply(100, 104, "ab", "", "")},
			daemonLife{asked: wantsQuery(t, "limit=2&offset=102&stream=stdout"), says: outputReply(102, 200, "cd", "", "")},
		)
		out, err = c.Output(t.Context(), "j1", Range{Stream: messages.Stdout, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		require.NoError(t, err)
		b, err = io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, "abcd", string(b))
	})
}

// frame is a frame of two streams.
func frame(stream messages.Stream, kind byte, data string) string {
	head := []byte{byte(stream), kind, 0, 0}
	return string(binary.BigEndian.AppendUint32(head, uint32(len(data)))) + data
}

// A reader of both streams goes on at the byte of each.
func TestBothStreamsComeBackAtTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := func(offsets, frames string, ends bool) string {
			text := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTroupe-Offset: " + offsets + "\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(frames), frames)
			if ends {
				text += "0\r\n\r\n"
			}
			return text
		}
		gap := string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 3), 9))
		half := frame(messages.Stdout, 0, "xyz")
		c := successors(t,
			daemonLife{asked: wantsQuery(t, "follow=true&since=2026-01-02T03%3A04%3A05Z&stream=both"), says: both("1,2", frame(messages.Stdout, 0, "ab")+frame(messages.Stderr, 0, "c")+half[:9], false)},
			daemonLife{after: time.Second, asked: wantsQuery(t, "follow=true&offset_stderr=3&offset_stdout=3&stream=both"), says: both("3,3", frame(messages.Stderr, api.GapFrame, gap)+frame(messages.Stderr, 0, "d"), false)},
			daemonLife{after: time.Second, asked: wantsQuery(t, "follow=true&offset_stderr=10&offset_stdout=3&stream=both"), says: both("3,10", half, true)},
		)
		got := map[messages.Stream]string{}
		gaps, err := c.OutputBoth(t.Context(), "j1", RangeBoth{Follow: true, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, func(a Arrived) error {
			got[a.Stream] += string(a.Bytes)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, map[messages.Stream]string{messages.Stdout: "abxyz", messages.Stderr: "cd"}, got)
		require.Equal(t, []messages.OutputGap{{From: 3, To: 9}}, gaps)
	})
}
