package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cast is a parsed asciicast.
type cast struct {
	header struct {
		Version   int
		Term      struct{ Cols, Rows int }
		Timestamp int64
		Command   string
		Title     string
	}
	seconds float64 // of all intervals
	output  string
	exit    string // "": none
}

// castOf reads the cast of a job, line by line.
func (p *process) castOf(job string, flags ...string) (c cast) {
	p.t.Helper()
	q := p.beside(append([]string{"logs", "--cast", job}, flags...)...).start()
	lines := bufio.NewReader(q.out)
	head, err := lines.ReadBytes('\n')
	require.NoError(p.t, err)
	require.NoError(p.t, json.Unmarshal(head, &c.header))
	require.Equal(p.t, 3, c.header.Version)
	var text strings.Builder
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			break
		}
		require.NoError(p.t, err, "the last line is cut: %q", line)
		require.Empty(p.t, c.exit, "an event follows the exit status")
		var event [3]any
		require.NoError(p.t, json.Unmarshal(line, &event))
		interval, data := event[0].(float64), event[2].(string)
		require.GreaterOrEqual(p.t, interval, 0.0)
		require.Less(p.t, len(line), 1<<20)
		c.seconds += interval
		switch event[1] {
		case "o":
			text.WriteString(data)
		case "x":
			c.exit = data
		default:
			require.Fail(p.t, "unexpected event", "%q", line)
		}
	}
	c.output = text.String()
	q.ends(0)
	return c
}

// A large output is in its cast to the last byte, and the cast lasts as long as the job.
func TestCastOfALargeOutput(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, flags := range map[string][]string{"pipe": nil, "terminal": {"--pty"}, "apart": {"--streams", "separate"}} {
		d.beside(append(append([]string{"run", "-b", "--name", name}, flags...), "seq 1 500000; printf 'ä€👍'; exit 4")...).start().ends(0)
		d.beside("wait", name).start().ends(4)
		c := d.castOf(name)
		var want strings.Builder
		for n := range 500_000 {
			fmt.Fprintf(&want, "%d\r\n", n+1)
		}
		require.True(t, c.output == want.String()+"ä€👍", "%s: %d bytes, want %d", name, len(c.output), want.Len()+9)
		require.Equal(t, "4", c.exit)
		require.InDelta(t, d.record(name)["duration_ms"].(float64)/1000, c.seconds, 0.002)
		require.NotZero(t, c.header.Timestamp)
	}
	c := d.castOf("apart", "--stream", "stderr")
	require.Empty(t, c.output)
	require.Equal(t, "4", c.exit)
}

// A live shell's command and a detached job without a daemon have casts, too.
func TestCastOfOtherJobs(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-s", "dev", "--name", "shell", "echo in a shell").start().ends(0)
	d.beside("wait", "shell").start().ends(0)
	require.Equal(t, "in a shell\r\n", d.castOf("shell").output)
	d.beside("run", "--detach", "--log", d.file("x.log"), "echo detached; exit 5").start().ends(0)
	d.beside("wait", "--pid-file", d.file("x.pid")).start().ends(5)
	q := d.beside("logs", "--cast", "--pid-file", d.file("x.pid")).start()
	text := q.rest()
	q.ends(0)
	require.Contains(t, text, `"o","detached\r\n"]`)
	require.Contains(t, text, `"x","5"]`)
}
