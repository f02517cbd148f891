package messages

// The terminal conversation: a client shows a job on a real terminal, which answers
// what the job's programs ask it. Of what was asked while none was there, troupe has
// answered: a client leaves out the questions before the byte Answered
// (docs/decisions/024).
//
//	client --TakeTerminal--> … --> command --TerminalTaken | CommandRejected--> client
//	client --LeaveTerminal--> … --> command --Acknowledged | CommandRejected--> client
//
// The one reply is the last message. Who vanishes without LeaveTerminal keeps the
// terminal until somebody else takes it: whoever speaks for him says it for him.

// The size of a terminal of which nobody has told the size: that of the first ones.
const (
	DefaultRows = 24
	DefaultCols = 80
)

// TakeTerminal says that a client shows the job on a terminal that answers its
// questions, from now on and instead of whoever did.
type TakeTerminal struct {
	quiet
	Job JobID
	By  string // names the client, for LeaveTerminal; of a job at a time one
}

// TerminalTaken reports that the client's terminal answers what is asked behind the
// byte Answered of the output, and nothing before.
type TerminalTaken struct {
	quiet
	Answered int64
}

// LeaveTerminal says that a client's terminal is gone. Through is the byte of the
// output up to which it was shown there. It changes nothing if somebody else has taken
// the terminal since.
type LeaveTerminal struct {
	quiet
	Job     JobID
	By      string
	Through int64
}

func (TerminalTaken) controlReply() {}

// Address implements Addressed.
func (r TakeTerminal) Address() Address  { return Address{Job: r.Job} }
func (r LeaveTerminal) Address() Address { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (TakeTerminal) Refuse(e *Error) any  { return CommandRejected{Err: *e} }
func (LeaveTerminal) Refuse(e *Error) any { return CommandRejected{Err: *e} }
