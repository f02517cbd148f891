package out

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	long := &Table{Head: []string{"ID", "EMPTY", "COMMAND"}}
	long.Add("j1", "", strings.Repeat("make ", 40))
	long.Add("j22", "", "日本語日本語日本語")
	long.Add("j3", "", "a\x1b[2Jb\nc")
	var wide, narrow strings.Builder
	require.NoError(t, long.Write(&wide, 0))
	require.NoError(t, long.Write(&narrow, 20))
	require.Contains(t, wide.String(), strings.TrimSpace(strings.Repeat("make ", 40))+"\n")
	require.Equal(t, "ID   COMMAND\nj1   make make make…\nj22  日本語日本語日…\nj3   a\\x1b[2Jb\\nc\n", narrow.String())
	for line := range strings.Lines(narrow.String()) {
		require.LessOrEqual(t, Cells(strings.TrimSuffix(line, "\n")), 20)
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "한글": 4, "🚀": 2, "ｗ": 2, "\u200b": 0, "–": 1} {
		require.Equal(t, want, Cells(text), text)
	}
	require.Equal(t, "abc", Shorten("abc", 3))
	require.Equal(t, "ab…", Shorten("abcd", 3))
	require.Equal(t, "日…", Shorten("日本語", 4))
}

func TestAges(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m", time.Hour: "1h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		require.Equal(t, want, Ago(d))
	}
}
