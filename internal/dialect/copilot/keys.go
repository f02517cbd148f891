package copilot

import (
	"strings"

	"troupe/internal/shelltext"
)

// keys lists the keys that input can name. Other text in braces is literal; shell
// syntax uses braces a lot.
var keys = []string{"up", "down", "right", "left", "enter", "backspace"}

// Typed returns the bytes of an input as typed at a terminal: the named keys, and text
// whose lines end with the enter key.
//
// Copilot CLI pauses between pieces, because a terminal loses what it has no room for. Here
// no pause is needed. A piece is written, in order, when the kernel has room, and a line
// that the terminal would cut is refused.
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

// key returns the key at the start of an input that starts with a brace, or the brace.
func key(input string) (typed []byte, size int) {
	for _, name := range keys {
		if strings.HasPrefix(input[1:], name+"}") {
			typed, _ = shelltext.EncodeKey(name, shelltext.KeyMode{BackspaceBS: true}) // every name in keys has an encoding
			return typed, len(name) + 2
		}
	}
	return []byte{'{'}, 1
}

var lineEnds = strings.NewReplacer("\r\n", "\r", "\n", "\r")

func lines(text string) string { return lineEnds.Replace(text) }
