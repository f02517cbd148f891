package logs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/messages"
)

// Each invalid part is one U+FFFD, wherever the bytes are cut.
func TestCastTextOfAnyBytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[string]string{
		"plain äöü 👍":                "plain äöü 👍",
		"\xff\xfe":                   "\uFFFD\uFFFD",
		"a\xe2\x82b":                 "a\uFFFDb",
		"\xf0\x9f\x91c":              "\uFFFDc",
		"\xc3(":                      "\uFFFD(",
		"\xe2\x82":                   "\uFFFD",
		"\xed\xa0\x80":               "\uFFFD\uFFFD\uFFFD", // half of a pair is no rune
		"one\ntwo\r\n\x1b[1mx\x1b[m": "one\ntwo\r\n\x1b[1mx\x1b[m",
	} {
		for at := range len(bytes) + 1 {
			text := &castText{}
			require.Equal(t, want, text.add([]byte(bytes[:at]))+text.add([]byte(bytes[at:]))+text.rest(), "%q cut at %d", bytes, at)
		}
		text, got := &castText{newlines: true}, ""
		for i := range len(bytes) {
			got += text.add([]byte{bytes[i]})
		}
		require.Equal(t, strings.ReplaceAll(want, "\n", "\r\n"), got+text.rest(), "%q by bytes", bytes)
	}
}

// Streams that are interleaved do not complete each other's runes, times only grow, and a gap
// stands in its place.
func TestCastEvents(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0).Add(700 * time.Millisecond)
	job := messages.Record{
		Command: "make \xff", Labels: messages.Labels{Name: "build"}, State: messages.Finished, Started: began,
		End: messages.End{Outcome: messages.Signaled, Signal: "KILL", At: began.Add(2500 * time.Millisecond)},
	}
	var to bytes.Buffer
	w := newCastWriter(&to, job)
	require.NoError(t, w.header(job))
	for _, part := range []client.Arrived{
		{Stream: messages.Stdout, At: time.Unix(1000, 0), Bytes: []byte("a\xe2\x82")}, // within the second in which the job began
		{Stream: messages.Stderr, At: time.Unix(1001, 0), Bytes: []byte("err\n")},
		{Stream: messages.Stdout, At: time.Unix(1001, 0), Bytes: []byte("\xac")},
		{Stream: messages.Stdout, Bytes: []byte("when\xe2")}, // an unknown time
		{Stream: messages.Stdout, Gap: messages.OutputGap{From: 10, To: 1034}},
		{Stream: messages.Stdout, At: time.Unix(1002, 0), Bytes: []byte("end\x82")},
	} {
		require.NoError(t, w.part(part))
	}
	require.NoError(t, w.end(job, true))
	require.Equal(t, []string{
		`{"version":3,"term":{"cols":80,"rows":24},"timestamp":1000,"command":"make �","title":"build"}`,
		`[0.000,"o","a"]`, `[0.300,"o","err\r\n"]`, `[0.000,"o","€"]`, `[0.000,"o","when"]`, `[0.000,"o","�"]`, `[0.000,"m","1.0 KiB of the output were not kept"]`,
		`[1.000,"o","end�"]`, `[1.200,"x","137"]`,
	}, strings.Split(strings.TrimSuffix(to.String(), "\n"), "\n"))
	for line := range strings.Lines(to.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// A job that runs or is lost, and a cast that is incomplete, have no exit status.
func TestCastWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		job      messages.Record
		complete bool
	}{
		{messages.Record{State: messages.Running}, true},
		{messages.Record{State: messages.Finished, End: messages.End{Outcome: messages.Lost}}, true},
		{messages.Record{State: messages.Finished, End: messages.End{Outcome: messages.Exited}}, false},
	} {
		var to bytes.Buffer
		require.NoError(t, newCastWriter(&to, c.job).end(c.job, c.complete))
		require.Empty(t, to.String())
	}
}

func TestCastOfALargeOutputIsBounded(t *testing.T) {
	t.Parallel()
	var to bytes.Buffer
	w := newCastWriter(&to, messages.Record{Started: time.Unix(1, 0)})
	part, longest := bytes.Repeat([]byte("x\n"), 16<<10), 0
	for range 100 {
		require.NoError(t, w.part(client.Arrived{Stream: messages.Merged, Bytes: part}))
		require.LessOrEqual(t, to.Len(), 8*len(part))
		longest = max(longest, to.Len())
		to.Reset()
	}
	require.Positive(t, longest)
}
