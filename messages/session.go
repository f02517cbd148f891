package messages

import "time"

// The session conversation: a client opens and closes places to run.
//
//	client --OpenSession | CloseSession | ListSessions--> supervisor --> scope [--> session]
//	client <--SessionReply--
//
// A run opens the session that it names, too, if it is not open (RunCommand.Open).
// ShellClosed and SessionReplaced are facts of the backend to the session; a
// replaced shell is told to the client of the next command too: its record has
// FlagReplaced. SnapshotTried is one, too: a shell that begins without what its user has
// set up is told of by FlagNoSnapshot.

// OpenSession asks for a session as its plan says. One that is open already
// answers SessionOpened again if it is what the plan asks for, else conflict.
type OpenSession struct {
	quiet
	Principal Principal
	Scope     ScopePath
	Session   SessionID
	SessionPlan
}

// CloseSession asks for a session's end: its jobs are stopped, its shell is
// closed, and the processes it adopted are ended.
type CloseSession struct {
	quiet
	Scope   ScopePath
	Session SessionID
	Grace   time.Duration // 0: DefaultGrace, negative: none
	By      Party         // "": the client
	Reason  string
}

// ListSessions asks for the sessions of a scope and its sub-scopes, and, if Recent,
// for those of them that have ended.
type ListSessions struct {
	quiet
	Scope  ScopePath
	Recent bool
}

// SessionOpened reports that the session takes commands.
type SessionOpened struct {
	quiet
	Info SessionInfo
}

// SessionReplaced reports that the shell of a session died and was made anew:
// in Dir, with what was lost named in Lost.
type SessionReplaced struct {
	quiet
	Scope   ScopePath
	Session SessionID
	Dir     string
	Lost    string
}

// SnapshotTried reports, before the first command of a live shell runs, what became of
// the snapshot that it was to take up: Err is zero if it has, and says else why it begins
// without. A user who has no start file has none to take up: then nothing is reported.
type SnapshotTried struct {
	quiet
	Err Error // unsupported, reason snapshot
}

// SessionClosed reports that the session is gone. Survivors could not be ended.
type SessionClosed struct {
	quiet
	Scope     ScopePath
	Session   SessionID
	Reason    string
	By        Party
	Survivors []Survivor
}

// AutoCleanup is the reason of the end of a session that nobody used: for a new one,
// or for its time.
const AutoCleanup = "auto-cleanup"

// SessionList answers ListSessions.
type SessionList struct {
	quiet
	Sessions []SessionInfo
	Recent   []SessionEnd // the last one first
}

// MaxRecent is how many ends of sessions a node and its journal keep.
const MaxRecent = 100

// SessionEnd is the end of a session, or of a live shell in it.
type SessionEnd struct {
	Scope   ScopePath `json:"scope"`
	Session SessionID `json:"session"`
	Backend string    `json:"backend"`
	Reason  EndReason `json:"reason"`
	At      time.Time `json:"at"`
	// Of the last command in it. The hash is the SHA-256 of its text; no text was
	// run if Length is 0.
	ExitCode *int   `json:"exit_code"`
	Hash     string `json:"command_hash"`
	Length   int    `json:"command_length"`
	Closed   bool   `json:"-"` // the session is gone, not its shell alone
}

// EndReason is why a session or its shell ended.
type EndReason string

// The reasons.
const (
	EndStopped   EndReason = "stopped"   // somebody closed it, or its scope, or shut the node down
	EndCompleted EndReason = "completed" // its shell ended by itself, with the status 0
	EndError     EndReason = "error"     // its shell ended otherwise
	EndCleanup   EndReason = AutoCleanup // nobody used it
)

// SessionInfo is what is known of a session.
type SessionInfo struct {
	Scope    ScopePath `json:"scope"`
	Session  SessionID `json:"session"`
	Backend  string    `json:"backend"`
	Parallel int       `json:"parallel"` // jobs at a time; 1: serial
	Running  int       `json:"running"`
	Queued   int       `json:"queued"`
	Adopted  int       `json:"adopted"` // finished jobs whose processes it still holds
	Dir      string    `json:"cwd"`
	Shell    string    `json:"shell"`            // of a live one; "": it has none
	Used     time.Time `json:"used_at,omitzero"` // when a command of a live one last began or ended

	// What became of the snapshot of its user's shell, and why there is none.
	Snapshot      SnapshotUse `json:"snapshot,omitempty"`
	SnapshotError string      `json:"snapshot_error,omitempty"`
}

// SnapshotUse says whether a live shell has taken up what its user has set up.
type SnapshotUse string

// The uses. A daemon that begins again does not know it of the shells that live.
const (
	SnapshotNone   SnapshotUse = "" // none was to be, or no shell has begun, or that is not known
	SnapshotUsed   SnapshotUse = "used"
	SnapshotFailed SnapshotUse = "failed"
)

// Idle says whether nothing runs or waits in the session.
func (i SessionInfo) Idle() bool { return i.Running == 0 && i.Queued == 0 }

// ShellClosed reports that a session's place to run is closed and nothing it
// held is left but Survivors. Nothing follows.
type ShellClosed struct {
	quiet
	Survivors []Survivor
}

// SessionReply is what a client may receive in answer to a session request.
type SessionReply interface{ sessionReply() }

func (SessionOpened) sessionReply()   {}
func (SessionClosed) sessionReply()   {}
func (SessionList) sessionReply()     {}
func (RequestRejected) sessionReply() {}

// Address implements Addressed.
func (r OpenSession) Address() Address  { return Address{Scope: r.Scope, Session: r.Session} }
func (r CloseSession) Address() Address { return Address{Scope: r.Scope, Session: r.Session} }

// Refuse implements Refusable.
func (OpenSession) Refuse(e *Error) any  { return RequestRejected{Err: *e} }
func (CloseSession) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (ListSessions) Refuse(e *Error) any { return RequestRejected{Err: *e} }
