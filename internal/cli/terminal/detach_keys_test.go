package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The detach keys leave a job however the terminal sends them, in one piece or in many;
// what is no key of them is passed on as it is, and what is pasted is none.
func TestDetachKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys, typed, pass string
		left              bool
	}{
		"bytes":                   {"ctrl-p,ctrl-q", "a\x10\x11b", "a", true},
		"the first alone":         {"ctrl-p,ctrl-q", "\x10b", "\x10b", false},
		"the first again":         {"ctrl-p,ctrl-q", "\x10\x10\x11", "\x10", true},
		"one of them twice":       {"ctrl-a,ctrl-a,d", "\x01\x01\x01d", "\x01", true},
		"some of them again":      {"a,b,a,c", "ababac", "ab", true},
		"some of them, and more":  {"a,b,a,c", "abab", "ab", false},
		"twice, by kitty":         {"q,q,x", "\x1b[113u\x1b[113;1:3u\x1b[113u\x1b[113u\x1b[120u", "\x1b[113u\x1b[113;1:3u", true},
		"kitty":                   {"ctrl-p,ctrl-q", "a\x1b[112;5u\x1b[113;5u", "a", true},
		"kitty, with lamps":       {"ctrl-p,ctrl-q", "\x1b[112;69u\x1b[113;69u", "", true},
		"kitty, the first alone":  {"ctrl-p,ctrl-q", "\x1b[112;5ub", "\x1b[112;5ub", false},
		"kitty, with releases":    {"ctrl-p,ctrl-q", "\x1b[112;5:1u\x1b[112;5:3u\x1b[57442;5:3u\x1b[57442;5u\x1b[113;5u", "", true},
		"kitty, another modifier": {"ctrl-p,ctrl-q", "\x1b[112;3u\x1b[113;5u", "\x1b[112;3u\x1b[113;5u", false},
		"kitty, letters":          {"q,q", "\x1b[113u\x1b[113u", "", true},
		"modifyOtherKeys":         {"ctrl-p,ctrl-q", "a\x1b[27;5;112~\x1b[27;5;113~", "a", true},
		"mixed":                   {"ctrl-p,ctrl-q", "\x10\x1b[27;5;113~", "", true},
		"other sequences":         {"ctrl-p,ctrl-q", "\x1b[A\x1bOA\x1b[<0;1;1M\x1b\x1b[I", "\x1b[A\x1bOA\x1b[<0;1;1M\x1b\x1b[I", false},
		"a paste":                 {"ctrl-p,ctrl-q", "\x1b[200~a\x10\x11b\x1b[201~c", "\x1b[200~a\x10\x11b\x1b[201~c", false},
		"behind a paste":          {"ctrl-p,ctrl-q", "\x1b[200~a\x10\x1b[201~\x10\x11", "\x1b[200~a\x10\x1b[201~", true},
		"none":                    {"", "\x10\x11", "\x10\x11", false},
	} {
		var keys []byte
		if c.keys != "" {
			var err error
			keys, err = ParseKeys(c.keys)
			require.NoError(t, err)
		}
		l := DetachScanner{Keys: keys}
		pass, left := l.Filter([]byte(c.typed))
		require.Equal(t, c.pass, string(pass), name)
		require.Equal(t, c.left, left, name)

		for cut := 3; cut < len(c.typed); cut++ { // in two pieces; Escape alone is a key
			l, all := DetachScanner{Keys: keys}, ""
			for _, piece := range []string{c.typed[:cut], c.typed[cut:]} {
				pass, left = l.Filter([]byte(piece))
				if all += string(pass); left {
					break
				}
			}
			if b := c.typed[cut-1]; b != '\x1b' && (b != '[' || c.typed[cut-2] != '\x1b') {
				require.Equal(t, c.left, left, "%s, cut at %d", name, cut)
				require.Equal(t, c.pass, all, "%s, cut at %d", name, cut)
			}
		}
	}
}

// At a job on pipes it is the same.
func TestDetachKeysOfLines(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][]KeyAct{
		"aaad\r":  {{Leave: true}},
		"aad":     {{Leave: true}},
		"aab\r":   {{Bytes: []byte("aab\n")}},
		"ab\raad": {{Bytes: []byte("ab\n")}, {Leave: true}},
		"aaab\r":  {{Bytes: []byte("aaab\n")}},
	} {
		k := LineEditor{Leave: []byte("aad"), Echo: func(string) {}}
		require.Equal(t, want, k.Take([]byte(typed)), typed)
	}
}

// A paste is known by its ends wherever they are cut.
func TestDetachKeysInAPasteInPieces(t *testing.T) {
	t.Parallel()
	l, all := DetachScanner{Keys: []byte("\x10\x11")}, ""
	const typed = "\x1b[200~a\x10\x11b\x1b[201~c"
	for i := range len(typed) {
		pass, left := l.Filter([]byte(typed[i : i+1]))
		require.False(t, left)
		all += string(pass)
	}
	require.Equal(t, typed, all)
	_, left := l.Filter([]byte("\x10\x11"))
	require.True(t, left)
}
