package messages

import "time"

// The session conversation: a client opens and closes places to run.
//
//	client --OpenSession | CloseSession | ListSessions--> supervisor --> scope [--> session]
//	client <--SessionReply--
//
// ShellClosed and SessionReplaced are facts of the backend to the session; a
// replaced shell is told to the client of the next command too.

// OpenSession asks for a session of a backend. One that is open already
// answers SessionOpened again if it is of the same kind, else conflict.
type OpenSession struct {
	quiet
	Principal Principal
	Scope     ScopePath
	Session   SessionID
	Backend   string // "": pipe
	Dir       string
	Env       []string
	Shell     string
	Terminal  Terminal
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

// ListSessions asks for the sessions of a scope and its sub-scopes.
type ListSessions struct {
	quiet
	Scope ScopePath
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

// SessionClosed reports that the session is gone. Survivors could not be ended.
type SessionClosed struct {
	quiet
	Scope     ScopePath
	Session   SessionID
	Reason    string
	Survivors []Survivor
}

// SessionList answers ListSessions.
type SessionList struct {
	quiet
	Sessions []SessionInfo
}

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
}

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
