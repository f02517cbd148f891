package http_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// A raw output is the bytes as they are, from any offset, as many as are wanted.
func TestOutputRanges(t *testing.T) {
	d := start(t, nil)
	id := d.run(`printf '0123456789\377\000'`).ID
	for _, c := range []struct {
		what client.Range
		want string
		next int64
	}{
		{client.Range{}, "0123456789\xff\x00", 12},
		{client.Range{Follow: true}, "0123456789\xff\x00", 12},
		{client.Range{Offset: 10}, "\xff\x00", 12},
		{client.Range{Offset: 2, Limit: 3}, "234", 5},
		{client.Range{Offset: 2, Limit: 3, Follow: true}, "234", 5},
		{client.Range{Offset: 12}, "", 12},
		{client.Range{Offset: 99}, "", 99}, // B53: the size tells
		{client.Range{Offset: 99, Follow: true}, "", 99},
		{client.Range{Limit: 1 << 40}, "0123456789\xff\x00", 12},
	} {
		o, err := d.client.Output(t.Context(), id, c.what)
		require.NoError(t, err)
		b, err := io.ReadAll(o)
		require.NoError(t, err)
		require.Equal(t, c.want, string(b), "%+v", c.what)
		require.Equal(t, int64(12), o.Size)
		next, err := o.Next()
		require.NoError(t, err)
		require.Equal(t, c.next, next)
		gaps, err := o.Gaps()
		require.NoError(t, err)
		require.Empty(t, gaps)
		require.NoError(t, o.Close())
	}
}

// A follower sees what comes as it comes, until nobody can write any more.
func TestOutputFollowed(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "while read x; do echo got $x; done"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	o, err := d.client.Output(t.Context(), job.ID, client.Range{Follow: true})
	require.NoError(t, err)
	defer o.Close()
	for _, word := range []string{"one", "two"} {
		_, err := d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte(word + "\n")})
		require.NoError(t, err)
		line := make([]byte, len("got one\n"))
		_, err = io.ReadFull(o, line)
		require.NoError(t, err)
		require.Equal(t, "got "+word+"\n", string(line))
	}
	require.NoError(t, d.client.CloseInput(t.Context(), job.ID))
	rest, err := io.ReadAll(o)
	require.NoError(t, err)
	require.Empty(t, rest)
}

// What was not kept is left out, and told.
func TestOutputGaps(t *testing.T) {
	d := start(t, nil)
	const size = 4 << 20
	result, err := d.client.Run(t.Context(), messages.RunCommand{
		Program: messages.Program{Text: "head -c " + strconv.Itoa(size) + " /dev/zero | tr '\\0' x"}, Store: messages.Store{Quota: messages.Quota{Bytes: 1 << 20, Policy: "elide"}},
	})
	require.NoError(t, err)
	require.NotEmpty(t, result.Job.Output[0].Elided)
	o, err := d.client.Output(t.Context(), result.Job.ID, client.Range{Follow: true})
	require.NoError(t, err)
	defer o.Close()
	b, err := io.ReadAll(o)
	require.NoError(t, err)
	require.Equal(t, len(b), strings.Count(string(b), "x"), "a gap is never zeros")
	gaps, err := o.Gaps()
	require.NoError(t, err)
	require.NotEmpty(t, gaps)
	missing := int64(0)
	for _, g := range gaps {
		missing += g.To - g.From
	}
	require.Equal(t, int64(size), int64(len(b))+missing)
}

// Lines that nobody has counted are not said to be none.
func TestLinesAreToldOnceTheyAreCounted(t *testing.T) {
	d := start(t, nil)
	id := d.run(`echo a; echo b`).ID
	_, body := d.raw("GET", "/v1/jobs/"+string(id)+"/text", "")
	require.Contains(t, body, `"lines":null`)
	page, err := d.client.Text(t.Context(), id, messages.ReadOutput{Plain: true})
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", page.Text)
	require.False(t, page.LinesExact)
	page, err = d.client.Text(t.Context(), id, messages.ReadOutput{View: messages.View{Kind: messages.ViewTailLine, Lines: 1}, Plain: true})
	require.NoError(t, err)
	require.Equal(t, int64(2), page.Lines)
	page, err = d.client.Text(t.Context(), d.run(`true`).ID, messages.ReadOutput{Plain: true})
	require.NoError(t, err)
	require.Equal(t, int64(0), page.Lines)
	require.True(t, page.LinesExact)
}

// The bounded views.
func TestText(t *testing.T) {
	d := start(t, nil)
	id := d.run(`seq 100; printf '\033[31mred\033[0m'`).ID
	for _, c := range []struct {
		look      messages.ReadOutput
		text      string
		line      int64
		truncated bool
	}{
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewPage, Offset: 3, Lines: 2}, Plain: true}, "3\n4\n", 3, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewPage, Lines: 2}, Plain: true}, "1\n2\n", 1, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewPage, Offset: 1, Lines: 2}, Plain: true}, "1\n2\n", 1, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewTailLine, Lines: 2}, Plain: true}, "100\nred", 100, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewTailLine, Lines: 1}}, "\x1b[31mred\x1b[0m", 101, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewTail, Bytes: 7}, Plain: true}, "red", 0, true},
		{messages.ReadOutput{View: messages.View{Kind: messages.ViewPage, Offset: 1000}, Plain: true}, "", 0, true},
	} {
		page, err := d.client.Text(t.Context(), id, c.look)
		require.NoError(t, err)
		require.Contains(t, page.Text, c.text, "%+v", c.look)
		require.Equal(t, c.truncated, page.Truncated, "%+v", c.look)
		require.True(t, page.Closed)
		require.Equal(t, int64(304), page.Bytes)
		if c.line > 0 {
			require.Equal(t, c.line, page.Line, "%+v", c.look)
			require.Equal(t, c.text, page.Text, "%+v", c.look)
			require.Equal(t, int64(101), page.Lines)
		}
	}
	page, err := d.client.Text(t.Context(), id, messages.ReadOutput{View: messages.View{Kind: messages.ViewHeadTail, Lines: 1}, Plain: true})
	require.NoError(t, err)
	require.Regexp(t, `(?s)^1\n.*not shown.*red$`, page.Text)
	status, body := d.raw("GET", "/v1/jobs/"+string(id)+"/text?since=5m", "")
	require.Equal(t, 501, status)
	require.Contains(t, body, `"unsupported"`)
}

// The end of both streams is in the order in which they arrived.
func TestTextOfBothStreams(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{
		Program: messages.Program{Text: `while read x; do echo "$x"; read x; printf '\033[31m%s\n' "$x" >&2; done`}, Stdio: messages.Stdio{Stdin: messages.StdinPipe, Streams: messages.SeparateStreams},
	})
	for _, line := range []string{"a", "b", "c", "d"} {
		_, err := d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte(line + "\n")})
		require.NoError(t, err)
		d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: line})
	}
	for _, c := range []struct {
		look      messages.ReadOutput
		text      string
		truncated bool
	}{
		{messages.ReadOutput{Stream: messages.Both, Plain: true}, "a\nb\nc\nd\n", false},
		{messages.ReadOutput{Stream: messages.Both, After: [2]int64{2, 7}, Plain: true}, "c\nd\n", false},
		{messages.ReadOutput{Stream: messages.Both, After: [2]int64{4, 7}, Plain: true}, "d\n", false},
		{messages.ReadOutput{Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: 9}, Plain: true}, "c\nd\n", true},
		{messages.ReadOutput{Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: 4}}, "1md\n", true},
	} {
		page, err := d.client.Text(t.Context(), job.ID, c.look)
		require.NoError(t, err)
		require.Equal(t, c.text, page.Text, "%+v", c.look)
		require.Equal(t, c.truncated, page.Truncated, "%+v", c.look)
		require.Equal(t, messages.Both, page.Stream)
		require.Equal(t, []int64{0, 18, 18}, []int64{page.From, page.To, page.Bytes})
		require.False(t, page.Closed)
	}
	both := messages.ReadOutput{Job: job.ID, Stream: messages.Both, View: messages.View{Kind: messages.ViewTail}, After: [2]int64{2, 7}, Plain: true}
	here, err := host.Ask(t.Context(), d.node.Host(), both)
	require.NoError(t, err)
	there, err := host.Ask(t.Context(), d.client.Host(), both)
	require.NoError(t, err)
	there.Gaps = nil
	require.Equal(t, here, there, "the page is the same in this process")
	for want, r := range map[string]messages.ReadOutput{"offset_stdout": {After: [2]int64{-1, 0}}, "offset_stderr": {After: [2]int64{0, -1}}, "bytes": {View: messages.View{Bytes: -1}}} {
		r.Job, r.Stream, r.View.Kind = job.ID, messages.Both, messages.ViewTail
		for _, h := range []host.Host{d.node.Host(), d.client.Host()} {
			_, err := host.Ask(t.Context(), h, r)
			coded(t, err, messages.InvalidParams, want)
		}
	}
	both.View.Kind = messages.ViewPage
	_, err = host.Ask(t.Context(), d.node.Host(), both)
	coded(t, err, messages.Unsupported, "stream")
	_, err = d.client.Text(t.Context(), job.ID, messages.ReadOutput{Stream: messages.Both, View: messages.View{Kind: messages.ViewTailLine, Lines: 1}, Plain: true})
	coded(t, err, messages.Unsupported, "stream")
	_, err = d.client.Text(t.Context(), job.ID, messages.ReadOutput{Stream: messages.Stdout, After: [2]int64{1, 0}, Plain: true})
	coded(t, err, messages.InvalidParams, "offset_stdout")
	_, err = d.client.Text(t.Context(), d.run("echo merged").ID, messages.ReadOutput{Stream: messages.Both, Plain: true})
	coded(t, err, messages.InvalidParams, "stream")
}

// F43: a client that stops reading costs nobody anything: not the job, not the
// others, and no memory.
func TestFaultReaderStops(t *testing.T) {
	d := start(t, nil)
	const readers, size = 8, 32 << 20
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "read x; head -c " + strconv.Itoa(size) + " /dev/zero"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	before := heap()
	for range readers {
		conn, err := net.Dial("unix", d.socket)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /v1/jobs/"+string(job.ID)+"/output?follow=true HTTP/1.1\r\nHost: troupe\r\n\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 OK")))
		require.NoError(t, err)
	}
	require.NoError(t, d.client.CloseInput(t.Context(), job.ID))
	ended := d.awaits(job.ID, messages.Condition{})
	require.Equal(t, int64(size), ended.Output[0].Bytes)
	o, err := d.client.Output(t.Context(), job.ID, client.Range{Follow: true})
	require.NoError(t, err)
	defer o.Close()
	n, err := io.Copy(io.Discard, o)
	require.NoError(t, err)
	require.Equal(t, int64(size), n)
	require.Less(t, heap()-before, int64(16<<20))
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A follower ends with its client and with the server; the job goes on.
func TestOutputFollowerLeaves(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	ctx, leave := context.WithCancel(t.Context())
	o, err := d.client.Output(ctx, job.ID, client.Range{Follow: true})
	require.NoError(t, err)
	leave()
	_, err = o.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, o.Close())

	o, err = d.client.Output(t.Context(), job.ID, client.Range{Follow: true})
	require.NoError(t, err)
	defer o.Close()
	closing, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	require.NoError(t, d.server.Close(closing))
	require.Less(t, time.Since(began), patience)
	_, err = io.ReadAll(o)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	still, err := d.node.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, still.State)
}

// A reader that has stopped does not hold up the end of the server.
func TestFaultReaderStopsAndTheServerEnds(t *testing.T) {
	d := start(t, nil)
	job := d.run("head -c 4000000 /dev/zero")
	conn, err := net.Dial("unix", d.socket)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/jobs/"+string(job.ID)+"/output?follow=true HTTP/1.1\r\nHost: troupe\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 100))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, d.server.Close(ctx), "it waits for nobody who does not read")
}

// An output that was forgotten before its record is refused, never waited for,
// and never an empty one.
func TestOutputThatIsGone(t *testing.T) {
	d := start(t, func(o *node.Options, _ *http.Options) { o.Storage.Finished = 1 })
	first := d.run("echo first")
	for range 5 {
		d.run("echo next")
	}
	for _, what := range []client.Range{{}, {Follow: true}, {Offset: 3, Limit: 1}} {
		_, err := d.client.Output(t.Context(), first.ID, what)
		coded(t, err, messages.OutputUnavailable, "forgotten")
	}
	_, err := d.client.Text(t.Context(), first.ID, messages.ReadOutput{Plain: true})
	coded(t, err, messages.OutputUnavailable, "")
	a := d.attach(first.ID, client.AttachOptions{})
	require.Equal(t, messages.OutputUnavailable, a.said(api.AttachFailed).Error.Code)
	a.said(api.AttachEnded)
	result, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}}, client.WithText(100))
	require.NoError(t, err)
	require.Empty(t, result.Text.Text)
}

// Streams that were kept apart are read apart; a result shows both in the order
// in which they arrived.
func TestOutputApart(t *testing.T) {
	d := start(t, nil)
	result, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "echo out; echo err >&2"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}}, client.WithText(1000))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"out", "err"}, strings.Fields(result.Text.Text))
	id := result.Job.ID
	for stream, want := range map[messages.Stream]string{messages.Stdout: "out\n", messages.Stderr: "err\n"} {
		require.Equal(t, want, d.output(id, client.Range{Stream: stream}))
		page, err := d.client.Text(t.Context(), id, messages.ReadOutput{Stream: stream, View: messages.View{Kind: messages.ViewPage, Offset: 1, Lines: 5}, Plain: true})
		require.NoError(t, err)
		require.Equal(t, want, page.Text)
		require.Equal(t, stream, page.Stream)
	}
	_, err = d.client.Output(t.Context(), id, client.Range{})
	coded(t, err, messages.InvalidParams, "stream")
	require.ErrorContains(t, err, "stdout and stderr")
	_, err = d.client.Text(t.Context(), id, messages.ReadOutput{Plain: true})
	coded(t, err, messages.InvalidParams, "stream")
}

// Text views are clean of what would speak to a terminal, unless raw is asked for.
func TestSecurityTextIsClean(t *testing.T) {
	d := start(t, nil)
	id := d.run(`printf 'a\033]52;c;aGk=\007b\033[2Jc\n'`).ID
	page, err := d.client.Text(t.Context(), id, messages.ReadOutput{Plain: true})
	require.NoError(t, err)
	require.Equal(t, "abc\n", page.Text)
	page, err = d.client.Text(t.Context(), id, messages.ReadOutput{})
	require.NoError(t, err)
	require.Contains(t, page.Text, "\x1b]52;")
}

// What was written to two streams comes in its order, from an offset of each or from
// a moment, and each of them to its end; followed, neither loses anything.
func TestOutputOfBothStreams(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{
		Program: messages.Program{Text: "echo a; read x; echo b >&2; read x; echo c; read x; echo d >&2"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe, Streams: messages.SeparateStreams},
	})
	followed := make(chan string, 1)
	both := func(what client.RangeBoth) (text string) {
		_, err := d.client.OutputBoth(t.Context(), job.ID, what, func(a client.Arrived) error {
			text += a.Stream.String()[3:] + ":" + string(a.Bytes)
			return nil
		})
		require.NoError(t, err)
		return text
	}
	go func() { // what comes, as it comes: a slow reader has several lines of a stream at once
		stdout, stderr := "", ""
		_, err := d.client.OutputBoth(t.Context(), job.ID, client.RangeBoth{Follow: true}, func(a client.Arrived) error {
			if a.Stream == messages.Stdout {
				stdout += string(a.Bytes)
			} else {
				stderr += string(a.Bytes)
			}
			return nil
		})
		assert.NoError(t, err)
		followed <- stdout + "|" + stderr
	}()
	for _, line := range []string{"a", "b", "c", "d"} {
		d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: line})
		_, _ = d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte("\n")}) // it has ended behind the last
	}
	d.awaits(job.ID, messages.Condition{})
	const all = "out:a\nerr:b\nout:c\nerr:d\n"
	require.Equal(t, "a\nc\n|b\nd\n", <-followed)
	require.Equal(t, all, both(client.RangeBoth{}))
	require.Equal(t, all, both(client.RangeBoth{Since: job.Created}))
	require.Equal(t, "out:c\nerr:d\n", both(client.RangeBoth{From: map[messages.Stream]int64{messages.Stdout: 2, messages.Stderr: 2}}))
	require.Empty(t, both(client.RangeBoth{Since: time.Now().Add(time.Hour)}))
	at := "/v1/jobs/" + string(job.ID) + "/output"
	d.refused(t, "GET", at+"?stream=both&offset=1", "", 400, messages.InvalidParams, "offset")
	d.refused(t, "GET", at+"?stream=stdout&offset_stderr=1", "", 400, messages.InvalidParams, "offset_stderr")
	d.refused(t, "GET", at+"?stream=stdout&since=5m", "", 400, messages.InvalidParams, "since")
	d.refused(t, "GET", at+"?stream=stdout&since=2026-01-02T15:04:05Z&offset=1", "", 400, messages.InvalidParams, "since")
	merged := d.run("true")
	d.refused(t, "GET", "/v1/jobs/"+string(merged.ID)+"/output?stream=both", "", 400, messages.InvalidParams, "stream")
}
