package messages

// The terminal conversation: a client shows a job on a real terminal, which answers the
// job's terminal queries. Without one, troupe answers them. The client therefore drops the
// queries before the byte Answered (docs/decisions/024).
//
//	client --ClaimTerminal--> … --> command --TerminalClaimed | CommandRejected--> client
//	client --ReleaseTerminal--> … --> command --Acknowledged | CommandRejected--> client
//
// The one reply is the last message. A client that disconnects without ReleaseTerminal
// keeps the terminal until another client claims it; its gateway sends the message for it.

// The size of a terminal for which none was given.
const (
	DefaultRows = 24
	DefaultCols = 80
)

// ClaimTerminal reports that from now on the client's terminal answers the job's queries,
// instead of any other client's.
type ClaimTerminal struct {
	quiet
	Job JobID
	By  string // name of the client, for ReleaseTerminal; one client holds a job's terminal at a time
}

// TerminalClaimed reports that the client's terminal answers the queries after the byte
// Answered of the output, and none before.
type TerminalClaimed struct {
	quiet
	Answered int64
}

// ReleaseTerminal reports that a client's terminal has gone. Through is the byte of the
// output up to which the terminal showed it. It has no effect after another client has
// claimed the terminal.
type ReleaseTerminal struct {
	quiet
	Job     JobID
	By      string
	Through int64
}

func (TerminalClaimed) controlReply() {}

// Address implements Addressed.
func (r ClaimTerminal) Address() Address   { return Address{Job: r.Job} }
func (r ReleaseTerminal) Address() Address { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (ClaimTerminal) Refuse(e *Error) any   { return CommandRejected{Err: *e} }
func (ReleaseTerminal) Refuse(e *Error) any { return CommandRejected{Err: *e} }
