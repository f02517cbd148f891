package messages

// The terminal conversation: a client shows a job on a real terminal, which answers
// what the job's programs ask it. Of what was asked while none was there, troupe has
// answered: a client leaves out the questions before the byte Answered
// (docs/decisions/024).
//
//	client --ClaimTerminal--> … --> command --TerminalClaimed | CommandRejected--> client
//	client --ReleaseTerminal--> … --> command --Acknowledged | CommandRejected--> client
//
// The one reply is the last message. Who vanishes without ReleaseTerminal keeps the
// terminal until somebody else takes it: whoever speaks for him says it for him.

// The size of a terminal of which nobody has told the size: that of the first ones.
const (
	DefaultRows = 24
	DefaultCols = 80
)

// ClaimTerminal says that a client shows the job on a terminal that answers its
// questions, from now on and instead of whoever did.
type ClaimTerminal struct {
	quiet
	Job JobID
	By  string // names the client, for ReleaseTerminal; of a job at a time one
}

// TerminalClaimed reports that the client's terminal answers what is asked behind the
// byte Answered of the output, and nothing before.
type TerminalClaimed struct {
	quiet
	Answered int64
}

// ReleaseTerminal says that a client's terminal is gone. Through is the byte of the
// output up to which it was shown there. It changes nothing if somebody else has taken
// the terminal since.
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
