package api

import "troupe/messages"

// An attachment is a WebSocket. Its binary messages are bytes: output from the server,
// starting at the offset of hello, and input from the client. Its text messages are
// these.
//
//	server: hello, then output, gap, lease, answers, asked, written, failed in any order, then ended
//	client: input, close_input, resize, repaint, ask, take, yield, refuse
//
// One attachment of a job holds the input lease; the others watch. ask gets the lease if it
// is free. If not, its holder receives asked and sends yield or refuse. take gets the lease
// at once, and its holder is notified. A client that was refused or displaced gets the
// lease when it is free.

// Kinds of messages from the server.
const (
	AttachHello   = "hello"   // Job, Stream, Offset, Held
	AttachGap     = "gap"     // From, To: bytes that were not kept
	AttachLease   = "lease"   // Held: whether you may write now; Reason: why that changed
	AttachAsked   = "asked"   // another client asks for the lease: yield or refuse
	AttachWritten = "written" // Through: input bytes that the kernel has taken
	AttachFailed  = "failed"  // Error: a request failed
	AttachAnswers = "answers" // Held: whether your terminal answers queries in the output from Offset on; if not, leave them out
	AttachEnded   = "ended"   // Job, Offset: nothing follows
)

// Reasons for a change of the lease.
const (
	LeaseGranted = "granted" // you asked for it, now or before
	LeaseTaken   = "taken"   // another client took it
	LeaseRefused = "refused" // its holder keeps it
	LeaseYielded = "yielded" // you gave it up
)

// AttachEvent is a text message of the server.
type AttachEvent struct {
	V       messages.Version `json:"v"`
	Kind    string           `json:"type"`
	Job     *messages.Record `json:"job,omitempty"`
	Stream  string           `json:"stream,omitempty"`
	Offset  int64            `json:"offset,omitzero"`
	From    int64            `json:"from,omitzero"`
	To      int64            `json:"to,omitzero"`
	Held    bool             `json:"held,omitzero"`
	Reason  string           `json:"reason,omitempty"`
	Through int64            `json:"through,omitzero"`
	Error   *messages.Error  `json:"error,omitempty"`
}

// Kinds of messages from the client.
const (
	AttachCloseInput = "close_input"
	AttachResize     = "resize"  // Rows, Cols; needs the lease
	AttachRepaint    = "repaint" // makes the program paint again: the terminal's size is changed and changed back
	AttachAsk        = "ask"
	AttachTake       = "take"
	AttachYield      = "yield"
	AttachRefuse     = "refuse"
)

// AttachRequest is a text message of the client.
type AttachRequest struct {
	Kind string `json:"type"`
	Rows int    `json:"rows,omitzero"`
	Cols int    `json:"cols,omitzero"`
}

// MaxAttachInput bounds one input message, in bytes. A client with more to write waits
// for written in between.
const MaxAttachInput = 64 << 10
