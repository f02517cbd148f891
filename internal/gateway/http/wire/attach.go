package wire

import "troupe/messages"

// An attachment is a WebSocket. Its binary messages are bytes: of the output from
// the server, from the offset of its first message on, and of the input from the
// client. Its text messages are these.
//
//	server: hello, then output, gap, lease, answers, asked, written, failed in any order, then ended
//	client: input, close_input, resize, repaint, ask, take, yield, refuse
//
// One attachment of a job holds the lease of its input; the others watch. ask
// gets it if it is free; else its holder is told (asked) and yields or refuses.
// take gets it at once, and its holder is told that he has lost it. Who was refused,
// or has lost it so, is given it when it is free.

// Kinds of what the server says.
const (
	AttachHello   = "hello"   // Job, Stream, Offset, Held
	AttachGap     = "gap"     // From, To: bytes that were not kept
	AttachLease   = "lease"   // Held says whether you may write now; Reason, why that changed
	AttachAsked   = "asked"   // somebody else asks for the lease: yield or refuse
	AttachWritten = "written" // Through: what the kernel has of the input
	AttachFailed  = "failed"  // Error: something that was asked for was not done
	AttachAnswers = "answers" // Held says whether your terminal answers what is asked from the byte Offset on; elsewhere leave the questions out
	AttachEnded   = "ended"   // Job, Offset: nothing follows
)

// Reasons of a lease that changes.
const (
	LeaseGranted = "granted" // you asked for it, now or before
	LeaseTaken   = "taken"   // somebody else took it
	LeaseRefused = "refused" // its holder keeps it
	LeaseYielded = "yielded" // you gave it away
)

// AttachEvent is a text message of the server.
type AttachEvent struct {
	V       int             `json:"v"`
	Kind    string          `json:"type"`
	Job     *Job            `json:"job,omitempty"`
	Stream  string          `json:"stream,omitempty"`
	Offset  int64           `json:"offset,omitempty"`
	From    int64           `json:"from,omitempty"`
	To      int64           `json:"to,omitempty"`
	Held    bool            `json:"held,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Through int64           `json:"through,omitempty"`
	Error   *messages.Error `json:"error,omitempty"`
}

// Kinds of what the client says.
const (
	AttachCloseInput = "close_input"
	AttachResize     = "resize"  // Rows, Cols: who holds the lease
	AttachRepaint    = "repaint" // what paints the terminal does so again: its size is changed and changed back
	AttachAsk        = "ask"
	AttachTake       = "take"
	AttachYield      = "yield"
	AttachRefuse     = "refuse"
)

// AttachRequest is a text message of the client.
type AttachRequest struct {
	Kind string `json:"type"`
	Rows int    `json:"rows,omitempty"`
	Cols int    `json:"cols,omitempty"`
}

// MaxAttachInput bounds one message of input; a client that has more to write
// waits for written in between.
const MaxAttachInput = 64 << 10
