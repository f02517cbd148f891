package messages

import "time"

// The session conversation: a client opens, closes and lists sessions.
//
//	client --OpenSession | CloseSession | ListSessions--> supervisor --> scope [--> session]
//	client <--SessionOpened | SessionClosed | SessionList | RequestRejected--
//
// A run also opens the session that it names (RunCommand.Open). The backend sends the facts
// ShellClosed, SessionReplaced and SnapshotTried to the session. The record of the next
// command then has FlagReplaced after a replaced shell, and FlagNoSnapshot after a failed
// snapshot.

// OpenSession asks for a session as in its plan. An open session answers SessionOpened if
// it matches the plan, else conflict.
type OpenSession struct {
	quiet
	Principal Principal `json:"-"`
	Scope     ScopePath `json:"scope,omitzero"`
	Session   SessionID `json:"session"`
	SessionPlan
}

// CloseSession asks for the end of a session: its jobs, its shell and the processes that it
// adopted are stopped.
type CloseSession struct {
	quiet
	Scope   ScopePath     `json:"-" query:"scope"`
	Session SessionID     `json:"-" path:"session"`
	Grace   time.Duration `json:"-" query:"grace_ms"` // 0: DefaultGrace, negative: none
	By      Party         `json:"-"`                  // "": the client
	Reason  string        `json:"-" query:"reason"`
}

// ListSessions asks for the sessions of a scope and its sub-scopes. Recent adds the
// sessions that have ended.
type ListSessions struct {
	quiet
	Scope  ScopePath `json:"-" query:"scope"`
	Recent bool      `json:"-" query:"recent"`
}

// SessionOpened reports that the session takes commands.
type SessionOpened struct {
	recorded
	V    Version     `json:"v" cbor:"-"`
	Info SessionInfo `json:"session" cbor:"1,keyasint,omitzero"`
	At   time.Time   `json:"-" cbor:"2,keyasint,omitzero"`
}

// SessionReplaced reports that the shell of a session died and was replaced by one in Dir.
// Lost names what it lost.
type SessionReplaced struct {
	recorded
	Scope   ScopePath `cbor:"1,keyasint,omitzero"`
	Session SessionID `cbor:"2,keyasint,omitzero"`
	Dir     string    `cbor:"3,keyasint,omitzero"`
	Lost    string    `cbor:"4,keyasint,omitzero"`
	At      time.Time `cbor:"5,keyasint,omitzero"`
}

// SnapshotTried reports, before the first command of a live shell, whether the shell has
// loaded its user's snapshot. Err is zero, or says why it starts without one. For a user
// without a start file nothing is reported.
type SnapshotTried struct {
	ofProcess
	Err Error // unsupported, with the reason snapshot
}

// SessionClosed reports that the session has ended. Survivors could not be stopped.
type SessionClosed struct {
	recorded
	V         Version    `json:"v" cbor:"-"`
	Scope     ScopePath  `json:"-" cbor:"1,keyasint,omitzero"`
	Session   SessionID  `json:"-" cbor:"2,keyasint,omitzero"`
	Reason    string     `json:"reason" cbor:"3,keyasint,omitzero"`
	By        Party      `json:"-" cbor:"4,keyasint,omitzero"`
	Jobs      NoJobs     `json:"jobs" cbor:"-"` // in JSON it is the object of ScopeClosed
	Survivors []Survivor `json:"survivors" cbor:"5,keyasint,omitzero"`
	At        time.Time  `json:"-" cbor:"6,keyasint,omitzero"`
}

// AutoCleanup is the reason of a session that was closed because it was idle, for too long
// or when a new one needed its place.
const AutoCleanup = "auto-cleanup"

// SessionList answers ListSessions.
type SessionList struct {
	quiet
	V        Version       `json:"v" cbor:"-"`
	Sessions []SessionInfo `json:"sessions"`
	Recent   []SessionEnd  `json:"recent"` // newest first
}

// MaxRecent bounds the ended sessions that a node and its journal keep.
const MaxRecent = 100

// SessionEnd is the end of a session, or of a live shell in it.
type SessionEnd struct {
	Scope   ScopePath `json:"scope" cbor:"1,keyasint,omitzero"`
	Session SessionID `json:"session" cbor:"2,keyasint,omitzero"`
	Backend string    `json:"backend" cbor:"3,keyasint,omitzero"`
	Reason  EndReason `json:"reason" cbor:"4,keyasint,omitzero"`
	At      time.Time `json:"at" cbor:"5,keyasint,omitzero"`
	// Of its last command. Hash is the SHA-256 of the text. Length 0 means that no text was
	// run.
	ExitCode *int   `json:"exit_code" cbor:"6,keyasint,omitzero"`
	Hash     string `json:"command_hash" cbor:"7,keyasint,omitzero"`
	Length   int    `json:"command_length" cbor:"8,keyasint,omitzero"`
	Closed   bool   `json:"-" cbor:"9,keyasint,omitzero"` // the session ended, not only its shell
}

// EndReason is why a session or its shell ended.
type EndReason string

// The reasons.
const (
	EndStopped   EndReason = "stopped"   // a client closed it or its scope, or the node was shut down
	EndCompleted EndReason = "completed" // its shell exited by itself, with status 0
	EndError     EndReason = "error"     // its shell ended in another way
	EndCleanup   EndReason = AutoCleanup // it was idle
)

// SessionInfo describes an open session.
type SessionInfo struct {
	Scope    ScopePath `json:"scope" cbor:"1,keyasint,omitzero"`
	Session  SessionID `json:"session" cbor:"2,keyasint,omitzero"`
	Backend  string    `json:"backend" cbor:"3,keyasint,omitzero"`
	Parallel int       `json:"parallel" cbor:"4,keyasint,omitzero"` // jobs at a time; 1: serial
	Running  int       `json:"running" cbor:"5,keyasint,omitzero"`
	Queued   int       `json:"queued" cbor:"6,keyasint,omitzero"`
	Adopted  int       `json:"adopted" cbor:"7,keyasint,omitzero"` // finished jobs whose processes it still holds
	Dir      string    `json:"cwd" cbor:"8,keyasint,omitzero"`
	Shell    string    `json:"shell" cbor:"9,keyasint,omitzero"`             // path of the live shell; "": none
	Used     time.Time `json:"used_at,omitzero" cbor:"10,keyasint,omitzero"` // last start or end of a command in the live shell

	// Whether the shell has loaded its user's snapshot, and why not.
	Snapshot      SnapshotUse `json:"snapshot,omitempty" cbor:"11,keyasint,omitzero"`
	SnapshotError string      `json:"snapshot_error,omitempty" cbor:"12,keyasint,omitzero"`
}

// SnapshotUse is whether a live shell has loaded its user's snapshot.
type SnapshotUse string

// The uses. After a restart a daemon does not know them of the shells that live.
const (
	SnapshotNone   SnapshotUse = "" // no snapshot was due, no shell has started, or unknown
	SnapshotUsed   SnapshotUse = "used"
	SnapshotFailed SnapshotUse = "failed"
)

// Idle reports whether no job runs or waits in the session.
func (i SessionInfo) Idle() bool { return i.Running == 0 && i.Queued == 0 }

// ShellClosed reports that a session's executor is closed and that all it held has ended
// except Survivors. Nothing follows.
type ShellClosed struct {
	ofProcess
	Survivors []Survivor
}

// Address implements Addressed.
func (r OpenSession) Address() Address  { return Address{Scope: r.Scope, Session: r.Session} }
func (r CloseSession) Address() Address { return Address{Scope: r.Scope, Session: r.Session} }

// Refuse implements Refusable.
func (OpenSession) Refuse(e *Error) any  { return RequestRejected{Err: *e} }
func (CloseSession) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (ListSessions) Refuse(e *Error) any { return RequestRejected{Err: *e} }
