package pty

import (
	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/messages"
)

// Name is the name of the backend.
const Name = "pty"

// The default size of a terminal, in cells. Every program can use it.
const (
	Rows = 24
	Cols = 80
)

// New makes the backend on an engine. o configures package pipe.
func New(engine backends.Engine, o pipe.Options) *pipe.Backend {
	if o.Terminal == (messages.Terminal{}) {
		o.Terminal = messages.Terminal{Rows: Rows, Cols: Cols}
	}
	return pipe.New(engine, o)
}
