package copilot

import (
	"strings"

	"troupe/internal/shelltext"
)

// Keys are the keys that input can name. All else in braces is text: a shell has
// many of them.
var keys = []string{"up", "down", "right", "left", "enter", "backspace"}

// Typed are the bytes of an input, as they are typed at a terminal: the keys that it
// names, and text whose lines end with the key enter.
//
// There are no pauses between them. They are there in the family because a terminal that
// is written faster than it is read loses what it has no room for; here a piece is only
// written when the kernel has room, in order, and a line that the terminal would cut is
// refused.
func Typed(input string) []byte {
	var out []byte
	for input != "" {
		i := strings.IndexByte(input, '{')
		if i < 0 {
			return append(out, lines(input)...)
		}
		out, input = append(out, lines(input[:i])...), input[i:]
		typed, size := key(input)
		out, input = append(out, typed...), input[size:]
	}
	return out
}

// key is the key at the beginning of an input that begins with a brace, or that brace.
func key(input string) (typed []byte, size int) {
	for _, name := range keys {
		if strings.HasPrefix(input[1:], name+"}") {
			typed, _ = shelltext.EncodeKey(name, shelltext.KeyMode{BackspaceBS: true}) // each of them is a key
			return typed, len(name) + 2
		}
	}
	return []byte{'{'}, 1
}

var lineEnds = strings.NewReplacer("\r\n", "\r", "\n", "\r")

func lines(text string) string { return lineEnds.Replace(text) }
