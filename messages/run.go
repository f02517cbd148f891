package messages

import (
	"strconv"
	"time"
)

// The run conversation: one RunCommand, exactly one RunReply.
//
//	client --RunCommand--> supervisor --> scope --> session --> command
//	client <--CommandFinished | CommandPromoted | CommandRejected-- supervisor
//
// A promoted command is heard of once more: its CommandFinished goes to the
// notification channels, as every other fact does. CommandFinished is the last
// word about the result; CommandRetired follows it when the output is closed
// and no process is left, and is the last word about the job. Only notices of its
// end are told of later (notice.go).

// RunCommand asks for one job: Text for a shell, or Argv, never both. Scope and
// session are opened if they are not open yet.
//
// In the live shell of a session it is run as if it were typed there. A Dir is changed
// to and the variables of Env are exported before it, and stay so for what follows;
// EnvPolicy and BaseEnv say nothing there, and what only a process of its own can have
// (Detach, Umask, another Shell) is refused.
type RunCommand struct {
	quiet
	UID       UID    // the job's ULID, made by the caller; "": by the node
	Key       string // idempotency: the same key and request again gets the same job
	Principal Principal
	Tag       string // opaque, given back in the record

	Scope       ScopePath    // "": main
	Session     SessionID    // "": default
	Open        *SessionPlan // how the session is opened if it is not; nil: on pipes. It is not changed
	Name        string
	Description string

	Text  string
	Argv  []string
	Shell string // "": the session's; a name or an absolute path

	Dir       string   // absolute; "": the session's
	Env       []string // "K=V", applied over what EnvPolicy gives
	EnvPolicy EnvPolicy
	BaseEnv   []string // the caller's environment, for EnvCaller alone: none is an empty one
	Umask     string   // octal, as "0022"; "": the host's

	Streams    StreamMode
	Stdin      StdinMode
	Terminal   Terminal // the zero value: none
	Shown      bool     // its client shows the terminal on a real one, which answers until the job is promoted (ClaimTerminal)
	Background bool     // answer with CommandPromoted when it has started
	Detach     bool     // Background, in a keeper of its own, which outlives the node and its keeper
	LogFile    string   // of a detached job: the absolute path of its log, which must not be there; "": the node's choice

	PromoteAfter time.Duration // foreground budget from submission; 0: none
	Timeout      time.Duration // deadline of the job from its leaving the queue; 0: none
	Grace        time.Duration // from TERM to KILL; 0: DefaultGrace, negative: none

	OnExit     OnExit
	OnFinish   []string // commands and URLs that are told of the end
	Quota      Quota
	Durability string // memory, os-crash or fsync-on-exit, as package spill has them; "": memory
	Persist    bool   // its output goes to a file from the first byte
}

// AbandonRun says that its sender waits no longer for the RunCommand it sent,
// which is named by what it had. It has no answer; a reply to the run may still
// be on its way. A job for which nobody waits any more, and which is not in the
// background, is stopped.
type AbandonRun struct {
	quiet
	UID       UID
	Key       string
	Principal Principal
}

// MaxWaiting bounds those who wait for one job: by its key, for the end of a stop,
// or for the answer of its process.
const MaxWaiting = 1024

// Mask is the umask of a request as a number, or -1 for the host's.
func (r RunCommand) Mask() int {
	mask, err := strconv.ParseUint(r.Umask, 8, 9)
	if err != nil {
		return -1
	}
	return int(mask)
}

// DefaultGrace is how long a stopped job may take before it is killed: what
// Copilot CLI and task runners use.
const DefaultGrace = 5 * time.Second

// Bounds of a request.
const (
	MaxText     = 16 << 20 // bytes; above 100 KiB the text travels in a script file
	MaxEnv      = 8192     // variables; 10,000 are refused (B37 in docs/faults.md)
	MaxDuration = 10 * 365 * 24 * time.Hour
)

// EnvPolicy says where a job's environment begins.
type EnvPolicy string

// The policies.
const (
	EnvCaller EnvPolicy = "caller" // BaseEnv whole: what a person's shell would do
	EnvAllow  EnvPolicy = "allow"  // the allow-list, from the host's own; the default
	EnvAgent  EnvPolicy = "agent"  // as EnvAllow, and what keeps programs from paging, asking and drawing
	EnvClean  EnvPolicy = "clean"  // nothing
)

// StreamMode says whether stdout and stderr are kept apart. It is fixed at the
// start: one pipe cannot be split later. A terminal has one output: for a job with a
// Terminal separate streams are refused, in a session on one they are merged.
type StreamMode string

// The modes.
const (
	MergedStreams   StreamMode = "merged" // one pipe, true order; the default
	SeparateStreams StreamMode = "separate"
)

// StdinMode says what a job reads.
type StdinMode string

// The modes.
const (
	StdinNull StdinMode = "null" // /dev/null, which "" is, too; on a terminal its end is typed, unless somebody may come to type there
	StdinPipe StdinMode = "pipe" // what WriteInput sends
	StdinHost StdinMode = "host" // the host's own descriptor 0; in-process nodes only
)

// Terminal is the size of a job's terminal; the zero value is no terminal.
type Terminal struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// OnExit says what becomes of processes a command leaves behind.
type OnExit string

// The choices.
const (
	AdoptChildren OnExit = "adopt" // the session keeps them and ends them with itself; the default
	KeepChildren  OnExit = "keep"  // they survive the session, and end with what holds the processes: the keeper, or a node without one
	KillChildren  OnExit = "kill"  // they are ended at once
)

// Quota bounds a job's output. Bytes 0 is the node's default.
type Quota struct {
	Bytes  int64
	Policy string // a policy of package spill; "": elide
}

// CommandQueued reports that the job exists and waits for its turn.
type CommandQueued struct {
	quiet
	Job Job
}

// CommandStarted reports that the job's process exists.
type CommandStarted struct {
	quiet
	Job Job
}

// CommandPromoted reports that the job goes on in the background: its budget
// is spent, somebody asked, or it was a background job from the start.
type CommandPromoted struct {
	quiet
	Job Job
}

// CommandStopping reports that a job is being ended, and why.
type CommandStopping struct {
	quiet
	Job Job
}

// CommandDraining reports that the main process has exited and its last output
// is being collected.
type CommandDraining struct {
	quiet
	Job Job
}

// CommandFinished reports how the job ended. It is its one outcome.
type CommandFinished struct {
	quiet
	Job Job
}

// CommandRetired reports that nothing of a finished job is left: its output is
// closed and none of its processes lives. It is the last word about the job.
type CommandRetired struct {
	quiet
	Job Job
}

// CommandRejected reports that nothing was started or changed, and why.
type CommandRejected struct {
	quiet
	Err Error
}

// RunReply is what a client may receive in answer to RunCommand.
type RunReply interface{ runReply() }

func (CommandPromoted) runReply() {}
func (CommandFinished) runReply() {}
func (CommandRejected) runReply() {}

// CommandFact is what may be said of a job on its way up the tree.
type CommandFact interface {
	Record() Job
	With(Job) CommandFact // the same fact over another record
	commandFact()
}

func (CommandQueued) commandFact()   {}
func (CommandStarted) commandFact()  {}
func (CommandPromoted) commandFact() {}
func (CommandStopping) commandFact() {}
func (CommandDraining) commandFact() {}
func (CommandFinished) commandFact() {}
func (CommandRetired) commandFact()  {}
func (CommandChanged) commandFact()  {}
func (CommandNotified) commandFact() {}

// CommandChanged reports that something in a live job's record changed that is
// no change of state: its deadline, waiting for input, a flag.
type CommandChanged struct {
	quiet
	Job Job
}

// Record is the job as it stands after the fact.
func (f CommandQueued) Record() Job   { return f.Job }
func (f CommandStarted) Record() Job  { return f.Job }
func (f CommandPromoted) Record() Job { return f.Job }
func (f CommandStopping) Record() Job { return f.Job }
func (f CommandDraining) Record() Job { return f.Job }
func (f CommandFinished) Record() Job { return f.Job }
func (f CommandRetired) Record() Job  { return f.Job }
func (f CommandChanged) Record() Job  { return f.Job }
func (f CommandNotified) Record() Job { return f.Job }

// With is the same fact over another record.
func (CommandQueued) With(j Job) CommandFact   { return CommandQueued{Job: j} }
func (CommandStarted) With(j Job) CommandFact  { return CommandStarted{Job: j} }
func (CommandPromoted) With(j Job) CommandFact { return CommandPromoted{Job: j} }
func (CommandStopping) With(j Job) CommandFact { return CommandStopping{Job: j} }
func (CommandDraining) With(j Job) CommandFact { return CommandDraining{Job: j} }
func (CommandFinished) With(j Job) CommandFact { return CommandFinished{Job: j} }
func (CommandRetired) With(j Job) CommandFact  { return CommandRetired{Job: j} }
func (CommandChanged) With(j Job) CommandFact  { return CommandChanged{Job: j} }
func (CommandNotified) With(j Job) CommandFact { return CommandNotified{Job: j} }

// Address implements Addressed.
func (r RunCommand) Address() Address { return Address{Scope: r.Scope, Session: r.Session} }

// Refuse implements Refusable.
func (RunCommand) Refuse(e *Error) any { return CommandRejected{Err: *e} }
