package backends

import (
	"troupe/messages"
	"troupe/spill"
)

// Terminal is the terminal of a job as whoever draws it must know it.
type Terminal struct {
	ID    messages.UID
	Log   func() (spill.Log, error) // opens what was written to it; any goroutine may call it
	Sizes []SizeChange              // in order; the first from byte 0
}

// SizeChange says how large a terminal is from a byte of its output on.
type SizeChange struct {
	From int64
	Size messages.Terminal
}

// QueryReplies is what a terminal answers to the questions in its output.
type QueryReplies struct {
	Data    []byte // in their order; nil: nothing was asked
	Through int64  // the byte of the output up to which it was looked
	Bytes   int64  // of the whole output then
}
