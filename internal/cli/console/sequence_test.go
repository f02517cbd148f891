package console

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/stretchr/testify/require"

	"troupe/internal/shelltext"
)

// What a terminal sends for a key, in the old way or with the kitty protocol, reaches the program
// as it would at that terminal.
func TestR111_KeysReachTheProgram(t *testing.T) {
	for typed, want := range map[string]string{
		"x": "x", "É": "É", "\r": "\r", "\t": "\t", "\x7f": "\x7f", " ": " ", "\x03": "\x03", "\x1a": "\x1a", "\x1bx": "\x1bx",
		"\x1b[A": "\x1b[A", "\x1b[D": "\x1b[D", "\x1bOA": "\x1b[A", "\x1b[H": "\x1b[H", "\x1b[F": "\x1b[F", "\x1b[1;5C": "\x1b[1;5C",
		"\x1b[2~": "\x1b[2~", "\x1b[3~": "\x1b[3~", "\x1b[5~": "\x1b[5~", "\x1b[6~": "\x1b[6~", "\x1b[Z": "\x1b[Z",
		"\x1bOP": "\x1bOP", "\x1b[15~": "\x1b[15~", "\x1b[24~": "\x1b[24~",
		"\x1b[99;5u": "\x03", "\x1b[13u": "\r", "\x1b[9;2u": "\x1b[Z", "\x1b[127u": "\x7f", "\x1b[97;3u": "\x1ba",
	} {
		require.Equal(t, want, string(program(t, typed, shelltext.KeyMode{})), "%q", typed)
	}
	require.Equal(t, "\x1bOA", string(program(t, "\x1b[A", shelltext.KeyMode{AppCursor: true})))
	require.Equal(t, "\x1b[99;5u", string(program(t, "\x03", shelltext.KeyMode{Kitty: shelltext.Disambiguate})))
	require.Equal(t, "\x1b", string(program(t, "\x1b[27u", shelltext.KeyMode{})))
}

// program returns what a program in a mode reads for what a terminal sends.
func program(t *testing.T, typed string, m shelltext.KeyMode) []byte {
	t.Helper()
	var d uv.EventDecoder
	var keys []byte
	for rest := []byte(typed); len(rest) > 0; {
		n, event := d.Decode(rest)
		require.Positive(t, n, "%q", rest)
		if k, is := event.(uv.KeyPressEvent); is {
			keys = append(keys, shelltext.TranslateKey(sequence(tea.KeyPressMsg(k)), m)...)
		}
		rest = rest[n:]
	}
	return keys
}

func FuzzSequence(f *testing.F) {
	f.Add(rune('a'), 0, "a")
	f.Add(rune(tea.KeyF63), 7, "")
	f.Fuzz(func(t *testing.T, code rune, mods int, text string) {
		got := string(sequence(tea.KeyPressMsg{Code: code, Mod: tea.KeyMod(mods), Text: text}))
		require.True(t, got == text || strings.HasPrefix(got, "\x1b["))
	})
}
