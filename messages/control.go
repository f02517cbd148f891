package messages

import "time"

// The control conversation: a client acts on a job that exists.
//
//	client --request--> supervisor --> scope --> session --> command
//	client <--ControlReply-- command
//
// The one reply is the last message. A job that has finished answers
// job_finished, but StopCommand, which is idempotent, answers CommandStopped.

// StopCommand asks for jobs to be ended, politely at first: one job, or all of
// a session (of main, if no scope is named), or all of a scope and its sub-scopes. The reply comes when nothing
// of their trees is left, or says what is.
type StopCommand struct {
	quiet
	Job     JobID
	Scope   ScopePath
	Session SessionID
	Grace   time.Duration // from TERM to KILL; 0: the job's own, negative: none
	By      Party         // "": the client
	Reason  string
	Gone    bool // its client went away: the job says so (FlagClientGone)
}

// PromoteCommand asks for a foreground job to go on in the background. With Keep it stays
// when the client leaves whose scope it is in (ReleaseScope), also if it was in the
// background before: its record has FlagKept from then on. A person wants that.
type PromoteCommand struct {
	quiet
	Job  JobID
	Keep bool
}

// SignalCommand asks for a signal to be sent to the job's main process, or to
// all of its tree.
type SignalCommand struct {
	quiet
	Job    JobID
	Signal string // "INT", "SIGINT", "2"
	Tree   bool
}

// WriteInput asks for bytes to be given to the job's standard input.
type WriteInput struct {
	quiet
	Job  JobID
	Data []byte // at most MaxInput
	Raw  bool   // on a terminal: pass lines longer than it can take
}

// MaxInput bounds one WriteInput; the engine queues no more than that of a job.
const MaxInput = 256 << 10

// CloseInput asks for the end of the job's standard input.
type CloseInput struct {
	quiet
	Job JobID
}

// CheckInput asks for the job to be looked at for so long: its record then says when
// it waits for input. The answer is InputChecked. A job that can never is no_input, where it cannot be seen the
// answer is unsupported.
type CheckInput struct {
	quiet
	Job JobID
	For time.Duration
}

// ResizeTerminal asks for another size of the job's terminal.
type ResizeTerminal struct {
	quiet
	Job  JobID
	Size Terminal
}

// ChangeDeadline asks for another deadline: none, Extend more than now set, or
// After from now.
type ChangeDeadline struct {
	quiet
	Job    JobID
	None   bool
	Extend time.Duration // "+D"
	After  time.Duration // "D"
}

// PauseOutput asks for the capture of a job's output to stop or go on: a reader
// that must see every byte holds back the job instead of losing some.
type PauseOutput struct {
	quiet
	Job  JobID
	Hold bool
}

// Acknowledged reports that the request was done.
type Acknowledged struct{ quiet }

// InputChecked reports whether the job waits for input, behind all that it was given before
// it was asked: its record, which takes another way, may be older.
type InputChecked struct {
	quiet
	Waiting bool
	Secret  bool // … and its terminal shows nothing of it
}

// CommandStopped reports that the jobs have ended and nothing of their trees
// is left but Survivors.
type CommandStopped struct {
	quiet
	Jobs      []JobID
	Survivors []Survivor
	Already   bool // the job had finished before
}

// InputWritten reports that all input up to the byte Through, counted from the
// job's start, has been handed to the kernel.
type InputWritten struct {
	quiet
	Through int64
	Nth     uint64 // of the process, as ControlDone has it; a client gets none
}

// ControlReply is what a client may receive in answer to a control request.
type ControlReply interface{ controlReply() }

func (Acknowledged) controlReply()    {}
func (InputChecked) controlReply()    {}
func (CommandStopped) controlReply()  {}
func (InputWritten) controlReply()    {}
func (CommandRejected) controlReply() {}
func (CommandPromoted) controlReply() {} // to PromoteCommand

// Address implements Addressed.
func (r StopCommand) Address() Address {
	return Address{Job: r.Job, Scope: r.Scope, Session: r.Session}
}
func (r PromoteCommand) Address() Address { return Address{Job: r.Job} }
func (r SignalCommand) Address() Address  { return Address{Job: r.Job} }
func (r WriteInput) Address() Address     { return Address{Job: r.Job} }
func (r CloseInput) Address() Address     { return Address{Job: r.Job} }
func (r CheckInput) Address() Address     { return Address{Job: r.Job} }
func (r ResizeTerminal) Address() Address { return Address{Job: r.Job} }
func (r ChangeDeadline) Address() Address { return Address{Job: r.Job} }
func (r PauseOutput) Address() Address    { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (StopCommand) Refuse(e *Error) any    { return CommandRejected{Err: *e} }
func (PromoteCommand) Refuse(e *Error) any { return CommandRejected{Err: *e} }
func (SignalCommand) Refuse(e *Error) any  { return CommandRejected{Err: *e} }
func (WriteInput) Refuse(e *Error) any     { return CommandRejected{Err: *e} }
func (CloseInput) Refuse(e *Error) any     { return CommandRejected{Err: *e} }
func (CheckInput) Refuse(e *Error) any     { return CommandRejected{Err: *e} }
func (ResizeTerminal) Refuse(e *Error) any { return CommandRejected{Err: *e} }
func (ChangeDeadline) Refuse(e *Error) any { return CommandRejected{Err: *e} }
func (PauseOutput) Refuse(e *Error) any    { return CommandRejected{Err: *e} }
