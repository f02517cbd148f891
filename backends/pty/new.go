// Package pty is the kind of job whose every command is on a terminal of its own:
// one process tree for each, in parallel with others of its session, with the
// terminal as its input, its output and its controlling terminal. It is package pipe
// with a terminal where nobody asks for one (docs/decisions/022).
//
// A command's terminal has the size that the command asks for, else its session's,
// else 80 by 24. TERM is xterm-256color unless the environment says another.
package pty

import (
	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/messages"
)

// Name is what a session of this kind is asked for by.
const Name = "pty"

// The size of a terminal when nobody says: that of the first ones, which every program
// can do with.
const (
	Rows = 24
	Cols = 80
)

// New makes the backend on an engine. o is that of the commands on pipes.
func New(engine backends.Engine, o pipe.Options) *pipe.Backend {
	if o.Terminal == (messages.Terminal{}) {
		o.Terminal = messages.Terminal{Rows: Rows, Cols: Cols}
	}
	return pipe.New(engine, o)
}
