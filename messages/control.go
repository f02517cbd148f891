package messages

import "time"

// The control conversation: a client acts on a job that exists.
//
//	client --request--> supervisor --> scope --> session --> command
//	client <--ControlReply-- command
//
// The one reply is the last message. A finished job answers job_finished, except to
// StopCommand, which is idempotent: the answer is CommandStopped.

// StopCommand asks to stop one job, all jobs of a session, or all of a scope and its
// sub-scopes. A session without a scope is one of main. The reply comes when every
// process tree has ended, or with the survivors.
type StopCommand struct {
	quiet
	Job     JobID         `json:"-" path:"id"`
	Scope   ScopePath     `json:"scope,omitzero"`
	Session SessionID     `json:"session,omitzero"`
	Grace   time.Duration `json:"grace_ms,omitzero"` // from TERM to KILL; 0: the job's own, negative: none
	By      Party         `json:"-"`                 // "": the client
	Reason  string        `json:"reason,omitzero"`
	Gone    bool          `json:"-"` // its client has disconnected: the record gets FlagClientGone
}

// PromoteCommand asks to move a foreground job to the background. With Keep, the record
// gets FlagKept, also that of a background job: the job then stays when the client of
// its scope leaves (ReleaseScope).
type PromoteCommand struct {
	quiet
	Job  JobID `json:"-" path:"id"`
	Keep bool  `json:"keep"`
}

// SignalCommand asks to send a signal to the job's main process, or to its whole tree.
type SignalCommand struct {
	quiet
	Job    JobID  `json:"-" path:"id"`
	Signal string `json:"signal"` // "INT", "SIGINT", "2"
	Tree   bool   `json:"tree,omitzero"`
}

// WriteInput asks to write bytes to the job's standard input.
type WriteInput struct {
	quiet
	Job  JobID  `json:"-" path:"id"`
	Data []byte // at most MaxInput
	Raw  bool   // on a terminal: pass lines longer than it accepts
	// Keys and Paste replace Data, of which the host makes their bytes as the program on the
	// job's terminal expects them now: keys (docs/commands.md), or a text in brackets if the
	// program has asked for them.
	Keys, Paste string
}

// MaxInput bounds one WriteInput, and the input that the engine queues for a job, in
// bytes.
const MaxInput = 256 << 10

// CloseInput asks to end the job's standard input.
type CloseInput struct {
	quiet
	Job JobID `json:"-" path:"id"`
}

// CheckInput asks to observe the job for the duration For: its record then says when it
// waits for input. The answer is InputChecked. It is refused with no_input if the job can
// never wait, and with unsupported where the platform cannot show it.
type CheckInput struct {
	quiet
	Job JobID
	For time.Duration
}

// ResizeTerminal asks for another size of the job's terminal.
type ResizeTerminal struct {
	quiet
	Job  JobID    `json:"-" path:"id"`
	Size Terminal `json:",embed"`
}

// Check returns what is wrong with the request, or nil.
func (r ResizeTerminal) Check() *Error { return r.Size.Check() }

// ChangeDeadline asks for another deadline: none, Extend later than the present one, or
// After from now.
type ChangeDeadline struct {
	quiet
	Job    JobID         `json:"-" path:"id"`
	None   bool          `json:"none,omitzero"`
	Extend time.Duration `json:"extend_ms,omitzero"` // "+D"
	After  time.Duration `json:"after_ms,omitzero"`  // "D"
}

// Check returns what is wrong with the request, or nil.
func (r ChangeDeadline) Check() *Error {
	given := 0
	for _, is := range []bool{r.None, r.Extend != 0, r.After != 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return Invalid("deadline", "give one of none, extend_ms and after_ms")
	}
	return nil
}

// PauseOutput asks to pause or resume the capture of a job's output. A reader that must
// see every byte pauses the job, so that none is dropped.
type PauseOutput struct {
	quiet
	Job  JobID `json:"-" path:"id"`
	Hold bool  `json:"-"`
}

// Acknowledged reports that the request took effect.
type Acknowledged struct {
	quiet
	V Version `json:"v" cbor:"-"`
}

// InputChecked reports whether the job waits for input after all input given before the
// request. Its record is sent separately and may be older.
type InputChecked struct {
	quiet
	Waiting bool
	Secret  bool // the terminal does not echo the input
}

// CommandStopped reports that the jobs have ended, and every process except Survivors.
type CommandStopped struct {
	quiet
	V         Version    `json:"v" cbor:"-"`
	Jobs      []JobID    `json:"jobs"`
	Survivors []Survivor `json:"survivors"`
	Already   bool       `json:"already"` // the job had finished before the request
}

// InputWritten reports that the kernel has taken all input up to the byte Through,
// counted from the job's start.
type InputWritten struct {
	ofProcess
	V       Version `json:"v" cbor:"-"`
	Through int64   `json:"through" cbor:"1,keyasint,omitzero"`
	Nth     uint64  `json:"-" cbor:"2,keyasint,omitzero"` // number of the control, as in ControlDone; 0 for a client
}

// ControlReply is what a client may receive in answer to a control request.
type ControlReply interface{ controlReply() }

func (Acknowledged) controlReply()    {}
func (InputChecked) controlReply()    {}
func (CommandStopped) controlReply()  {}
func (InputWritten) controlReply()    {}
func (CommandRejected) controlReply() {}
func (CommandPromoted) controlReply() {} // answers PromoteCommand

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
