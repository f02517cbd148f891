package messages

import (
	"fmt"
	"time"
)

// The scope conversation: who owns what.
//
//	client --OpenScope | CloseScope | ReleaseScope | ListScopes | HandOver--> supervisor [--> scope …]
//	client <--ScopeReply--
//
// Closing a scope closes its sub-scopes and sessions and stops their jobs,
// those that are still starting too; ScopeClosed comes when nothing is left.

// OpenScope asks for a scope, and its parents if they are not open.
type OpenScope struct {
	quiet
	Principal Principal
	Path      ScopePath
	Quota     ScopeQuota
	Join      bool // one that is open stays as it is: the quota is that of a new one
}

// ScopeQuota bounds a scope with its sub-scopes. 0 is no bound.
type ScopeQuota struct {
	Jobs     int // live jobs
	Sessions int
}

// Check says what is wrong with the request, before anything of it exists.
func (r OpenScope) Check() *Error {
	if err := r.Path.Check(); err != nil {
		return err
	}
	if r.Quota.Jobs < 0 || r.Quota.Sessions < 0 {
		return Invalid("quota", fmt.Sprintf("the quota of scope %s is negative; give a number of jobs and of sessions, or 0 for no bound", r.Path))
	}
	return nil
}

// CloseScope asks for the end of a scope and everything in it.
type CloseScope struct {
	quiet
	Path   ScopePath
	Grace  time.Duration // 0: each job's own, negative: none
	By     Party         // "": the client
	Reason string
}

// ReleaseScope asks for the end of a scope whose client leaves. Where a job in it is to be
// kept (Job.Kept), that stays as it is, with its session and the scopes it is in, and all
// else there ends: the answer is ScopeReleased then. Else the scope is closed.
type ReleaseScope struct {
	quiet
	Path   ScopePath
	Grace  time.Duration // as that of CloseScope
	Reason string
}

// ListScopes asks for the scopes at and below Path; "" is all.
type ListScopes struct {
	quiet
	Path ScopePath
}

// HandOver asks for a live job to be moved to the default session of another
// scope. The job does not notice.
type HandOver struct {
	quiet
	Job JobID
	To  ScopePath
}

// ScopeOpened reports that the scope exists.
type ScopeOpened struct {
	quiet
	Path ScopePath
}

// ScopeClosed reports that nothing of the scope is left but Survivors.
type ScopeClosed struct {
	quiet
	Path      ScopePath
	Reason    string
	Jobs      []JobID // those that were stopped for it
	Survivors []Survivor
}

// ScopeReleased reports that nothing of the scope is left but Kept, what these need, and
// Survivors. It is a reply, and no fact.
type ScopeReleased struct {
	quiet
	Path      ScopePath
	Jobs      []JobID // those that were stopped for it
	Kept      []JobID
	Survivors []Survivor
}

// ScopeList answers ListScopes, parents first.
type ScopeList struct {
	quiet
	Scopes []ScopeInfo
}

// ScopeInfo is what is known of a scope; its sub-scopes are counted in.
type ScopeInfo struct {
	Path     ScopePath  `json:"path"`
	Jobs     int        `json:"jobs"` // live
	Sessions int        `json:"sessions"`
	Quota    ScopeQuota `json:"quota"`
}

// ScopeReply is what a client may receive in answer to a scope request.
type ScopeReply interface{ scopeReply() }

func (ScopeOpened) scopeReply()     {}
func (ScopeClosed) scopeReply()     {}
func (ScopeReleased) scopeReply()   {}
func (ScopeList) scopeReply()       {}
func (Acknowledged) scopeReply()    {} // to HandOver
func (RequestRejected) scopeReply() {}

// Address implements Addressed.
func (r CloseScope) Address() Address   { return Address{Scope: r.Path} }
func (r ReleaseScope) Address() Address { return Address{Scope: r.Path} }
func (r HandOver) Address() Address     { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (OpenScope) Refuse(e *Error) any    { return RequestRejected{Err: *e} }
func (CloseScope) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (ReleaseScope) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (ListScopes) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (HandOver) Refuse(e *Error) any     { return RequestRejected{Err: *e} }
