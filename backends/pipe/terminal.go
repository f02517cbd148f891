package pipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"troupe/backends"
	"troupe/messages"
)

// terminal is that of a command; the zero value: it is on pipes.
func (p *executor) terminal(c backends.Command) messages.Terminal {
	if !p.backend.onTerminals() {
		return c.Stdio.Terminal
	}
	return cmp.Or(c.Stdio.Terminal, p.at.Terminal, p.backend.options.Terminal)
}

// checkSize says why a terminal cannot have a size; none is none.
func checkSize(t messages.Terminal) *messages.Error {
	if t == (messages.Terminal{}) || t.Rows >= 1 && t.Rows <= 65535 && t.Cols >= 1 && t.Cols <= 65535 {
		return nil
	}
	return messages.Invalid("invalid_size",
		fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
}

// term is the kind of terminal that programs are told: what most emulators are, and
// what terminfo has everywhere.
const term = "TERM=xterm-256color"

// withTerm is an environment that names the kind of the terminal.
func withTerm(env []string) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return env
	}
	return append(slices.Clip(env), term)
}
