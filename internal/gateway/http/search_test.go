package http_test

import (
	"encoding/binary"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// grep of the output route is grep -n, and its pages as text continue each other.
func TestOutputIsSearched(t *testing.T) {
	d := start(t, nil)
	id := d.run(`seq 1 2000; printf 'last'`).ID
	at := "/v1/jobs/" + string(id) + "/output?grep="
	grep := func(query string) string {
		status, text := d.raw("GET", at+query, "")
		require.Equal(t, 200, status, text)
		return text
	}
	require.Equal(t, "99:99\n199:199\n", grep(url.QueryEscape("^1?99$")))
	require.Equal(t, "2-2\n3:3\n4-4\n--\n2000-2000\n2001:last\n", grep(url.QueryEscape("^3$|last")+"&context=1"))
	require.Empty(t, grep("nothing"))
	require.Regexp(t, `^2001:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ last\n$`, grep("last&times=true"))

	want, text, matches := grep("9&context=2"), "", 0
	r := messages.ReadOutput{Job: id, View: messages.View{Kind: messages.ViewMatches, Pattern: "9", Context: 2, Bytes: 700}}
	for {
		page, err := host.Ask(t.Context(), d.client.Host(), r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Text), 700)
		text, matches = text+page.Text, matches+page.Matches
		if r.View.Cursor = page.Next; page.Next == "" {
			require.Equal(t, page.Bytes, page.To)
			break
		}
	}
	require.Equal(t, want, text)
	require.Equal(t, strings.Count(want, ":"), matches)
}

// A search reaches over what was not kept; lines after it have no numbers.
func TestSearchOverGaps(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "seq 1 300000"}, Store: messages.Store{Quota: messages.Quota{Bytes: 1 << 20, Policy: "elide"}}})
	d.awaits(job.ID, messages.Condition{})
	status, text := d.raw("GET", "/v1/jobs/"+string(job.ID)+"/output?grep="+url.QueryEscape("^[27]00$|^300000$"), "")
	require.Equal(t, 200, status)
	require.Equal(t, "200:200\n700:700\n?:300000\n", text)
}

func TestBadInputOfASearch(t *testing.T) {
	d := start(t, nil)
	id := d.run("echo a; echo b").ID
	at := "/v1/jobs/" + string(id)
	for query, reason := range map[string]string{
		"/output?grep=(": "grep", "/output?grep=": "grep", "/output?grep=a&context=1001": "context", "/output?context=1": "context", "/output?grep=a&follow=true": "follow",
		"/output?grep=a&offset=1": "offset", "/output?grep=a&stream=both": "stream", "/text?grep=a&line=2": "line", "/text?grep=a&cursor=x": "cursor", "/text?grep=a&cursor=-1.0.0.0": "cursor",
		"/text?cursor=0.1.0.0": "cursor", "/text?times=true": "times", "/text?grep=a&bytes=0": "bytes", "/output?times=x": "times", "/text?grep=a&cursor=0.1.5000.0": "cursor",
	} {
		d.refused(t, "GET", at+query, "", 400, messages.InvalidParams, reason)
	}
	_, err := host.Ask(t.Context(), d.client.Host(), messages.ReadOutput{Job: id, View: messages.View{Kind: messages.ViewMatches, Pattern: "a", Cursor: "999999.1.0.0"}})
	require.NoError(t, err, "a cursor after the end")
}

// The times of an output come before its bytes, for what is stored and for what comes.
func TestOutputHasTimes(t *testing.T) {
	d := start(t, nil)
	for _, streams := range []messages.StreamMode{messages.MergedStreams, messages.SeparateStreams} {
		job := d.background(messages.RunCommand{
			Program: messages.Program{Text: "echo a; read x; echo b; read x"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe, Streams: streams},
		})
		stream := job.Output[0].Stream
		parts := make(chan client.Arrived)
		what := client.RangeBoth{From: map[messages.Stream]int64{stream: 0}, Follow: true, Times: true}
		ended := make(chan error, 1)
		go func() {
			_, err := d.client.OutputBoth(t.Context(), job.ID, what, func(a client.Arrived) error {
				parts <- client.Arrived{Stream: a.Stream, At: a.At, Bytes: append([]byte(nil), a.Bytes...)}
				return nil
			})
			ended <- err
		}()
		for _, want := range []string{"a\n", "b\n"} {
			part := <-parts
			require.Equal(t, want, string(part.Bytes))
			require.WithinDuration(t, time.Now(), part.At, patience)
			require.False(t, part.At.Before(job.Created.Add(-time.Second)))
			_, err := d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte("\n")})
			require.NoError(t, err)
		}
		require.NoError(t, <-ended)
		text := ""
		what = client.RangeBoth{From: map[messages.Stream]int64{stream: 2}, Limit: 1, Times: true}
		_, err := d.client.OutputBoth(t.Context(), job.ID, what, func(a client.Arrived) error {
			require.False(t, a.At.IsZero())
			text += string(a.Bytes)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "b", text)
	}
}

// A frame with a time is one of its own.
func TestTimeFrames(t *testing.T) {
	d := start(t, nil)
	id := d.run("echo a").ID
	_, text := d.raw("GET", "/v1/jobs/"+string(id)+"/output?times=true", "")
	require.Len(t, text, 2*api.FrameHead+api.TimeSize+2)
	require.EqualValues(t, api.TimeFrame, text[1])
	ms := binary.BigEndian.Uint64([]byte(text[api.FrameHead:]))
	require.WithinDuration(t, time.Now(), time.UnixMilli(int64(ms)), patience)
	require.Regexp(t, regexp.MustCompile(`a\n$`), text)
}
