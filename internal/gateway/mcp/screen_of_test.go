package mcp

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// editing is a host with a job that shows an editor on its terminal.
type editing struct {
	*written
	rows []string
}

func (e *editing) Do(ctx context.Context, r messages.Refusable) (any, error) {
	switch r := r.(type) {
	case messages.ReadScreen:
		return messages.ScreenText{Lines: e.rows, Alternate: true}, nil
	case messages.ReadOutput:
		page, err := e.View(ctx, r)
		page.FullScreen = r.Final
		return page, err
	}
	return e.written.Do(ctx, r)
}

// editor is a call of a client whose job has a terminal with an editor.
func editor(t *testing.T, data string) (*call, messages.Record) {
	t.Helper()
	w := &written{node: newNode(), data: map[messages.Stream]string{messages.Merged: data}}
	c := enteredAt(t, &editing{w, []string{"line one", "~", "~", ""}}).calling()
	return c, messages.Record{
		ID: "j1", State: messages.Running, Terminal: messages.Terminal{Rows: 4, Cols: 20}, FullScreen: true,
		Output: []messages.StreamOutput{{Stream: messages.Merged, Bytes: int64(len(data))}},
	}
}

// A result has the screen of a program that takes it whole, instead of its output.
func TestAResultShowsTheWholeScreen(t *testing.T) {
	c, job := editor(t, "\x1b[?1049h\x1b[1;1Hline one\x1b[2;1H~\x1b[3;1H~")
	a, err := c.shown(t.Context(), job, Text{Text: "line one~~", Redrawn: true}, 99, "")
	require.NoError(t, err)
	out := a.result.(*core.RunResult)
	require.Equal(t, "line one\n~\n~\n", out.Output)
	require.True(t, out.FullScreen && out.Screen)
	require.False(t, out.Truncated)
	require.Contains(t, a.Text(), "\n[its program takes the whole screen: shown is its screen, not its output]\n")

	s, err := c.outputFrom(t.Context(), job, messages.Merged, 8, 99, 0)
	require.NoError(t, err)
	require.Equal(t, "line one\n~\n~\n", s.Output)
	require.Equal(t, job.Output[0].Bytes, s.Next)

	a, err = c.tell(t.Context(), job, 12, "")
	require.NoError(t, err)
	require.Equal(t, "line one\n~\n", a.result.(*core.RunResult).Output)
	require.Contains(t, a.Text(), "not all rows of the screen fit into max_bytes")
}

// A part of an output that begins within a full-screen program leaves out what that draws.
func TestAPartOfAnMCPOutputAfterAFullScreenProgram(t *testing.T) {
	const begin, drawn, left = "before\n\x1b[?1049h", "\x1b[2;1H~\x1b[3;1H~", "\x1b[?1049l\r\nafter\n"
	c, job := editor(t, begin+strings.Repeat(drawn, 100)+left)
	job.FullScreen = false
	s, err := c.outputFrom(t.Context(), job, messages.Merged, int64(len(begin+drawn)), 9999, 0)
	require.NoError(t, err)
	require.Equal(t, "[… 198 bytes of a full-screen program not shown …]\nafter\n", s.Output)
	s, err = c.outputFrom(t.Context(), job, messages.Merged, int64(len(begin+drawn)), 50, 0)
	require.NoError(t, err)
	require.NotContains(t, s.Output, "~\n")
	require.Less(t, len(s.Output), 60)

	c, job = editor(t, "text\nmore \x1b[?1049lend\n") // it leaves what it has not entered
	s, err = c.outputFrom(t.Context(), job, messages.Merged, 5, 99, 0)
	require.NoError(t, err)
	require.Equal(t, "more end\n", s.Output)
}
