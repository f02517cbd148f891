package backends

import (
	"troupe/messages"
	"troupe/spill"
)

// Terminal is what a screen needs of a job's terminal.
type Terminal struct {
	ID    messages.UID
	Log   func() (spill.Log, error) // opens the log of the terminal; safe for concurrent use
	Sizes []SizeChange              // in order; the first from byte 0
}

// SizeChange is the size of a terminal from a byte of its output on.
type SizeChange struct {
	From int64
	Size messages.Terminal
}

// QueryReplies are the replies of a terminal to the queries in its output.
type QueryReplies struct {
	Data    []byte // replies in order; nil: there were no queries
	Through int64  // byte of the output up to which queries were answered
	Bytes   int64  // of the whole output at that time
}
