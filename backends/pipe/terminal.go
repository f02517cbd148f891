package pipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"troupe/backends"
	"troupe/messages"
)

// terminal returns the size of a command's terminal; zero: it runs on pipes.
func (p *executor) terminal(c backends.Command) messages.Terminal {
	if !p.backend.onTerminals() {
		return c.Stdio.Terminal
	}
	return cmp.Or(c.Stdio.Terminal, p.at.Terminal, p.backend.options.Terminal)
}

// checkSize returns why a terminal cannot have a size, or nil. It accepts the zero value.
func checkSize(t messages.Terminal) *messages.Error {
	if t == (messages.Terminal{}) || t.Rows >= 1 && t.Rows <= 65535 && t.Cols >= 1 && t.Cols <= 65535 {
		return nil
	}
	return messages.Invalid("invalid_size",
		fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
}

// term is the terminal type that programs get. Most emulators are of it, and terminfo has it
// everywhere.
const term = "TERM=xterm-256color"

// withTerm adds the terminal type to an environment without one.
func withTerm(env []string) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return env
	}
	return append(slices.Clip(env), term)
}
