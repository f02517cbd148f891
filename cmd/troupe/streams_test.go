package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// alternates writes lines to stdout and stderr in turn; each is read from a pipe of
// its own, so only the order that was recorded can tell.
const alternates = `for i in 1 2 3 4 5 6 7 8; do echo out$i; troupe_wait; echo err$i >&2; troupe_wait; done`

// Streams that are apart are shown in the order in which they came, if they go to
// the same place, and each to its own else.
func TestLogsOfBothStreams(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	text := "exec 3<>gate; " + strings.ReplaceAll(alternates, "troupe_wait", "read x <&3") // open throughout: no turn is lost
	open := gate(t, d.file("gate"))
	id := d.beside("run", "-b", "--streams", "separate", text).start().line()
	var want strings.Builder
	for i := range 16 {
		stream := []string{"out", "err"}[i%2]
		line := stream + string(rune('1'+i/2)) + "\n"
		want.WriteString(line)
		w := d.beside("wait", "--match", line, id).start()
		w.ends(0)
		open()
	}
	d.beside("wait", id).start().ends(0)
	for _, args := range [][]string{{"logs", id}, {"logs", "-f", id}, {"logs", "--since", "1h", id}, {"logs", "-n", "100", id}} {
		p := d.beside().bash(`exec troupe ` + strings.Join(args, " ") + ` 2>&1`).start()
		require.Equal(t, want.String(), p.rest(), "%v", args)
		p.ends(0)
	}
	p := d.beside().bash("exec troupe logs -n 2 " + id + " 2>&1").start()
	require.Equal(t, "out7\nerr7\nout8\nerr8\n", p.rest())
	p = d.beside("logs", id).start()
	require.Equal(t, "out1\nout2\nout3\nout4\nout5\nout6\nout7\nout8\n", p.rest())
	p.ends(0)
	require.Contains(t, p.err.String(), "err1\nerr2\n")
	p = d.beside("logs", "--head", "1", id).start()
	require.Equal(t, "out1\n", p.rest())
	p.ends(0)
	require.Equal(t, "err1\n", p.err.String())
	p = d.beside("logs", "--json", id).start() // one page would leave the other stream out in silence
	require.Contains(t, p.rest(), `"reason":"stream","message":"--json prints a page of one stream, but job `+id+` has stdout and stderr"`)
	p.ends(cli.StatusUsage)
	p = d.beside("logs", "--json", "--stream", "stderr", "-n", "1", id).start()
	require.Contains(t, p.rest(), `"text":"err8\n"`)
	p.ends(0)
}

// An attached client prints both streams, to the end of both.
func TestAttachShowsBothStreams(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	id := d.beside("run", "-b", "-i", "--streams", "separate", "echo before >&2; read x; echo out; echo err >&2; exit 6").start().line()
	d.beside("wait", "--match", "before", id).start().ends(0)
	other := d.beside("logs", "-f", id).start()
	other.err.has(t, "before\n")
	p := d.beside("attach", id)
	p.Stdin = strings.NewReader("\n")
	p.start()
	p.ends(6)
	require.Equal(t, "out\n", p.rest())
	require.Equal(t, "err\n", p.err.String())
	require.Equal(t, "out\n", other.rest())
	other.ends(0)
	require.Equal(t, "before\nerr\n", other.err.String())
}

// What was printed since a moment begins with its line, of one stream or of two.
func TestLogsSince(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, streams := range []string{"merged", "separate"} {
		open := gate(t, d.file(streams))
		id := d.beside("run", "-b", "--streams", streams, "exec 3<>"+streams+"; echo old; printf half; read x <&3; echo ' a line'; echo new; read x <&3; echo err >&2").start().line()
		d.beside("wait", "--match", "half", id).start().ends(0)
		later := time.Now().Add(2100 * time.Millisecond) // the times of output and of --since are exact to a second
		<-time.After(time.Until(later) + 100*time.Millisecond)
		open()
		d.beside("wait", "--match", "new", id).start().ends(0)
		open()
		d.beside("wait", id).start().ends(0)
		p := d.beside().bash("exec troupe logs --since " + later.Format(time.RFC3339Nano) + " " + id + " 2>&1").start()
		require.Equal(t, "half a line\nnew\nerr\n", p.rest(), streams)
		p.ends(0)
		zone := "Asia/Kolkata"
		at, err := time.LoadLocation(zone)
		require.NoError(t, err)
		for _, form := range []string{time.DateTime, "2006-01-02T15:04:05.000"} { // the time there
			p = d.beside().bash("TZ=" + zone + " exec troupe logs --since '" + later.In(at).Format(form) + "' " + id + " 2>&1").start()
			require.Equal(t, "half a line\nnew\nerr\n", p.rest(), form)
			p.ends(0)
		}
		p = d.beside("logs", "--since", time.Now().Add(-48*time.Hour).Format(time.DateOnly), id).start()
		require.Contains(t, p.rest(), "old\n")
		p.ends(0)
		p = d.beside("logs", "-f", "-n", "0", id).start()
		require.Empty(t, p.rest())
		p.ends(0)
		p = d.beside("logs", "-f", "--stream", map[string]string{"merged": "merged", "separate": "stdout"}[streams], "--since", "10m", id).start()
		require.Contains(t, p.rest(), "old\nhalf a line\nnew\n", streams)
		p.ends(0)
		p = d.beside("logs", "--since", time.Now().Add(time.Hour).Format(time.RFC3339), id).start()
		require.Empty(t, p.rest())
		p.ends(0)
		require.Empty(t, p.err.String())
	}
}
