package messages

import (
	"strconv"
	"time"
)

// The run conversation: one RunCommand, exactly one reply.
//
//	client --RunCommand--> supervisor --> scope --> session --> command
//	client <--CommandFinished | CommandPromoted | CommandRejected-- supervisor
//
// A promoted command's CommandFinished goes to the channels, as every other fact does.
// CommandFinished is the last message about the result. CommandRetired follows when the
// output is closed and every process has ended; it is the last message about the job.
// Only the results of notices come later (notice.go).

// RunCommand asks for one job: Text for a shell, or Argv, never both. The node opens the
// scope and the session if they are not open.
//
// The live shell of a session runs Text as if it were typed there. It first changes to Dir
// and exports the variables of Env, which stay for later commands. The policy of Env and its base
// have no effect there. Detach, Umask, Limits, StopSignal and another Shell are refused, since the command
// has no process of its own.
type RunCommand struct {
	quiet
	UID     UID    `json:"uid,omitzero" cbor:"1,keyasint,omitzero"` // the job's ULID, made by the caller; "": the node makes it
	Key     string `json:"-" cbor:"2,keyasint,omitzero"`            // idempotency key: the same key and request again join the same job
	Labels  `cbor:"3,keyasint,omitzero"`
	Scope   ScopePath    `json:"scope,omitzero" cbor:"4,keyasint,omitzero"`   // "": main
	Session SessionID    `json:"session,omitzero" cbor:"5,keyasint,omitzero"` // "": default
	Open    *SessionPlan `json:"open,omitzero" cbor:"6,keyasint,omitzero"`    // how a session that is not open is opened; nil: on pipes; never changed by the node
	Replace bool         `json:"replace,omitzero" cbor:"7,keyasint,omitzero"` // stop the live job of that Name first

	Program `cbor:"8,keyasint,omitzero"`
	Dir     string `json:"cwd,omitzero" cbor:"9,keyasint,omitzero"` // absolute; "": the session's
	Env     Env    `json:"environment,omitzero" cbor:"10,keyasint,omitzero"`
	Umask   string `json:"umask,omitzero" cbor:"11,keyasint,omitzero"` // octal, as "0022"; "": the host's

	Stdio `cbor:"12,keyasint,omitzero"`
	Mode  Mode `json:"mode,omitzero" cbor:"13,keyasint,omitzero"`

	PromoteAfter time.Duration `json:"promote_after_ms,omitzero" cbor:"14,keyasint,omitzero"` // foreground budget from submission; 0: none
	Timeout      time.Duration `json:"timeout_ms,omitzero" cbor:"15,keyasint,omitzero"`       // from the end of the queue to the deadline; 0: none
	Grace        time.Duration `json:"grace_ms,omitzero" cbor:"16,keyasint,omitzero"`         // from TERM to KILL; 0: DefaultGrace, negative: none

	OnExit   OnExit   `json:"on_exit,omitzero" cbor:"17,keyasint,omitzero"`
	OnFinish []string `json:"on_finish,omitzero" cbor:"18,keyasint,omitzero"` // commands and URLs that receive a notice of the end
	Store    `cbor:"19,keyasint,omitzero"`
	ProcAttr `cbor:"20,keyasint,omitzero"`

	StartWaits `cbor:"22,keyasint,omitzero"`
	CalledBy   JobID `json:"called_by,omitzero" cbor:"23,keyasint,omitzero"` // the job that waits for this one, which must not wait for it; "": none

	RerunOf JobID `json:"rerun_of,omitzero" cbor:"21,keyasint,omitzero"` // runs the command of that job again: see Repeating; "": the command is Text or Argv
}

// Labels are what a client calls a job; the node reads only the Name.
type Labels struct {
	Name        string    `json:"name" cbor:"1,keyasint,omitzero"` // of at most one live job of the scope
	Description string    `json:"description" cbor:"2,keyasint,omitzero"`
	Tag         string    `json:"tag,omitzero" cbor:"3,keyasint,omitzero"` // opaque, returned in the record
	Principal   Principal `json:"-" cbor:"4,keyasint,omitzero"`
}

// Program is what runs: Text, by a shell, or Argv.
type Program struct {
	Text  string   `json:"command,omitzero" cbor:"1,keyasint,omitzero"`
	Argv  []string `json:"argv,omitzero" cbor:"2,keyasint,omitzero"`
	Shell string   `json:"shell,omitzero" cbor:"3,keyasint,omitzero"` // "": the session's; a name or an absolute path
}

// Env is an environment: Set over the variables of the Policy.
type Env struct {
	Policy EnvPolicy `json:"policy,omitzero" cbor:"1,keyasint,omitzero"`
	Base   []string  `json:"base,omitzero" cbor:"2,keyasint,omitzero"` // the caller's environment, for EnvCaller only; nil: empty
	Set    []string  `json:"set,omitzero" cbor:"3,keyasint,omitzero"`  // "K=V"
}

// Stdio is what a job reads and writes.
type Stdio struct {
	Streams  StreamMode `json:"streams,omitzero" cbor:"1,keyasint,omitzero"`
	Stdin    StdinMode  `json:"stdin,omitzero" cbor:"2,keyasint,omitzero"`
	Terminal Terminal   `json:"terminal,omitzero" cbor:"3,keyasint,omitzero"` // zero: none
	Shown    bool       `json:"shown,omitzero" cbor:"4,keyasint,omitzero"`    // the client shows it on a terminal that answers queries until the job is promoted (ClaimTerminal)
}

// Store says what is kept of the output, and where.
type Store struct {
	Quota      Quota  `json:"max_output,omitzero" cbor:"1,keyasint,omitzero"`
	Durability string `json:"durability,omitzero" cbor:"2,keyasint,omitzero"` // memory, os-crash or fsync-on-exit, as in package spill; "": memory
	Persist    bool   `json:"persist,omitzero" cbor:"3,keyasint,omitzero"`    // store the output in a file from the first byte
	LogFile    string `json:"log_file,omitzero" cbor:"4,keyasint,omitzero"`   // of a detached job: absolute path of its log, which must not exist; "": the node's choice
}

// AbandonRun reports that its sender waits no longer for the RunCommand with these values.
// It has no answer; a reply to the run may still arrive. The node stops the job if no
// client waits for it and it is not in the background.
type AbandonRun struct {
	quiet
	UID       UID
	Key       string
	Principal Principal
}

// MaxWaiting bounds the clients that wait for one job: by its key, for the end of a stop,
// or for the answer of its process.
const MaxWaiting = 1024

// Mask returns the umask of a request as a number, or -1 for the host's.
func (r RunCommand) Mask() int {
	mask, err := strconv.ParseUint(r.Umask, 8, 9)
	if err != nil {
		return -1
	}
	return int(mask)
}

// DefaultGrace is the time from TERM to KILL of a stopped job. Copilot CLI and task runners
// use the same.
const DefaultGrace = 5 * time.Second

// Bounds of a request.
const (
	MaxText     = 16 << 20 // bytes; a text above 100 KiB goes into a script file
	MaxEnv      = 8192     // variables; 10,000 are refused (B37 in docs/faults.md)
	MaxDuration = 10 * 365 * 24 * time.Hour
)

// EnvPolicy is the base of a job's environment.
type EnvPolicy string

// The policies.
const (
	EnvCaller EnvPolicy = "caller" // BaseEnv unchanged, as in a person's shell
	EnvAllow  EnvPolicy = "allow"  // the allow-listed variables of the host; the default
	EnvAgent  EnvPolicy = "agent"  // as EnvAllow, with variables that turn off paging, prompts and drawing
	EnvClean  EnvPolicy = "clean"  // empty
)

// StreamMode is whether stdout and stderr are kept apart. It is fixed at the start. A
// terminal has one output: a job with a Terminal cannot have separate streams, and a
// session on a terminal merges them.
type StreamMode string

// The modes.
const (
	MergedStreams   StreamMode = "merged" // one pipe, true order; the default
	SeparateStreams StreamMode = "separate"
)

// StdinMode is the source of a job's standard input.
type StdinMode string

// The modes.
const (
	StdinNull StdinMode = "null" // /dev/null, the default; on a terminal the end of input is typed, unless a client may attach
	StdinPipe StdinMode = "pipe" // the bytes of WriteInput
	StdinHost StdinMode = "host" // the host's own descriptor 0; only of a node in the host's process
)

// Terminal is the size of a job's terminal. The zero value means no terminal.
type Terminal struct {
	Rows int `json:"rows" cbor:"1,keyasint,omitzero"`
	Cols int `json:"cols" cbor:"2,keyasint,omitzero"`
}

// OnExit is what happens to the processes that a command leaves.
type OnExit string

// The choices.
const (
	AdoptChildren OnExit = "adopt" // the session adopts them and stops them when it closes; the default
	KeepChildren  OnExit = "keep"  // they outlive the session, and end with the keeper, or with a node that has none
	KillChildren  OnExit = "kill"  // they are killed at once
)

// Quota bounds a job's output. Bytes 0 is the node's default.
type Quota struct {
	Bytes  int64  `json:"bytes,omitzero" cbor:"1,keyasint,omitzero"`
	Policy string `json:"policy,omitzero" cbor:"2,keyasint,omitzero"` // a policy of package spill; "": elide
}

// CommandQueued reports that the job exists and is queued.
type CommandQueued struct {
	ofJob
	Job Record
}

// CommandStarted reports that the job's process exists.
type CommandStarted struct {
	ofJob
	Job Record
}

// CommandPromoted reports that the job runs in the background: from the start, at a
// client's request, or because its foreground budget is spent.
type CommandPromoted struct {
	ofJob
	Job Record
}

// CommandStopping reports that a job is being stopped, and why.
type CommandStopping struct {
	ofJob
	Job Record
}

// CommandDraining reports that the main process has exited and its output is being
// drained.
type CommandDraining struct {
	ofJob
	Job Record
}

// CommandFinished reports the outcome of the job.
type CommandFinished struct {
	ofJob
	Job Record
}

// CommandRetired reports that the output of a finished job is closed and all its processes
// have ended. It is the last fact of the job.
type CommandRetired struct {
	ofJob
	Job Record
}

// CommandRejected reports that nothing was started or changed, and why.
type CommandRejected struct {
	quiet
	Err Error
}

// CommandFact is a fact about a job.
type CommandFact interface {
	Record() Record
	With(Record) CommandFact // the same fact over another record
	commandFact()
}

// ofJob is embedded in the facts about a job.
type ofJob struct{ recorded }

func (ofJob) commandFact() {}

// CommandChanged reports a change of a live job's record other than its state: its
// deadline, waiting for input, a flag. A fault (Record.Faults) may change that of a retired one.
type CommandChanged struct {
	ofJob
	Job Record
}

// Record returns the job as it is after the fact.
func (f CommandQueued) Record() Record   { return f.Job }
func (f CommandStarted) Record() Record  { return f.Job }
func (f CommandPromoted) Record() Record { return f.Job }
func (f CommandStopping) Record() Record { return f.Job }
func (f CommandDraining) Record() Record { return f.Job }
func (f CommandFinished) Record() Record { return f.Job }
func (f CommandRetired) Record() Record  { return f.Job }
func (f CommandChanged) Record() Record  { return f.Job }
func (f CommandNotified) Record() Record { return f.Job }

// With returns the same fact with another record.
func (CommandQueued) With(j Record) CommandFact   { return CommandQueued{Job: j} }
func (CommandStarted) With(j Record) CommandFact  { return CommandStarted{Job: j} }
func (CommandPromoted) With(j Record) CommandFact { return CommandPromoted{Job: j} }
func (CommandStopping) With(j Record) CommandFact { return CommandStopping{Job: j} }
func (CommandDraining) With(j Record) CommandFact { return CommandDraining{Job: j} }
func (CommandFinished) With(j Record) CommandFact { return CommandFinished{Job: j} }
func (CommandRetired) With(j Record) CommandFact  { return CommandRetired{Job: j} }
func (CommandChanged) With(j Record) CommandFact  { return CommandChanged{Job: j} }
func (CommandNotified) With(j Record) CommandFact { return CommandNotified{Job: j} }

// Address implements Addressed.
func (r RunCommand) Address() Address { return Address{Scope: r.Scope, Session: r.Session} }

// Refuse implements Refusable.
func (RunCommand) Refuse(e *Error) any { return CommandRejected{Err: *e} }
