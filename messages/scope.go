package messages

import (
	"fmt"
	"time"
)

// The scope conversation: clients open, close and list scopes.
//
//	client --OpenScope | CloseScope | ReleaseScope | ListScopes | HandOver--> supervisor [--> scope …]
//	client <--ScopeOpened | ScopeClosed | ScopeReleased | ScopeList | Acknowledged | RequestRejected--
//
// Closing a scope closes its sub-scopes and sessions and stops their jobs, including jobs
// that are starting. ScopeClosed comes when every job has ended.

// OpenScope asks for a scope, and its parents if they are not open.
type OpenScope struct {
	quiet
	Principal Principal  `json:"-"`
	Path      ScopePath  `json:"path"`
	Quota     ScopeQuota `json:"quota,omitzero"`
	Join      bool       `json:"join,omitzero"` // leave an open scope unchanged; Quota applies to a new one
}

// ScopeQuota bounds a scope together with its sub-scopes. 0 means no bound.
type ScopeQuota struct {
	Jobs     int `json:"jobs" cbor:"1,keyasint,omitzero"` // live jobs
	Sessions int `json:"sessions" cbor:"2,keyasint,omitzero"`
}

// Check returns what is wrong with the request, or nil.
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
	Path   ScopePath     `json:"-" path:"path"`
	Grace  time.Duration `json:"-" query:"grace_ms"` // 0: each job's own, negative: none
	By     Party         `json:"-"`                  // "": the client
	Reason string        `json:"-" query:"reason"`
}

// Check returns what is wrong with the request, or nil.
func (r CloseScope) Check() *Error { return r.Path.Check() }

// ReleaseScope asks for the end of a scope whose client leaves. Kept jobs (Job.Kept) stay,
// with their sessions and scopes; all else ends, and the answer is ScopeReleased. Without
// a kept job the scope is closed.
type ReleaseScope struct {
	quiet
	Path   ScopePath     `json:"path"`
	Grace  time.Duration `json:"grace_ms,omitzero"` // as in CloseScope
	Reason string        `json:"reason,omitzero"`
}

// Check returns what is wrong with the request, or nil.
func (r ReleaseScope) Check() *Error { return r.Path.Check() }

// ListScopes asks for the scopes at and below Path. "" means all.
type ListScopes struct {
	quiet
	Path ScopePath `json:"-" query:"path"`
}

// HandOver asks to move a live job to the default session of another scope. The job runs
// on unchanged.
type HandOver struct {
	quiet
	Job JobID     `json:"-" path:"id"`
	To  ScopePath `json:"to"`
}

// Check returns what is wrong with the request, or nil.
func (r HandOver) Check() *Error { return r.To.Check() }

// ScopeOpened reports that the scope exists.
type ScopeOpened struct {
	recorded
	V    Version   `json:"v" cbor:"-"`
	Path ScopePath `json:"path" cbor:"1,keyasint,omitzero"`
	At   time.Time `json:"-" cbor:"2,keyasint,omitzero"`
}

// ScopeClosed reports that the scope has ended. Survivors could not be stopped.
type ScopeClosed struct {
	recorded
	V         Version    `json:"v" cbor:"-"`
	Path      ScopePath  `json:"-" cbor:"1,keyasint,omitzero"`
	Reason    string     `json:"reason" cbor:"2,keyasint,omitzero"`
	Jobs      []JobID    `json:"jobs" cbor:"3,keyasint,omitzero"` // stopped with the scope
	Survivors []Survivor `json:"survivors" cbor:"4,keyasint,omitzero"`
	At        time.Time  `json:"-" cbor:"5,keyasint,omitzero"`
}

// ScopeReleased reports that only Kept, their sessions and scopes, and Survivors are left
// of the scope. It is a reply, not a fact.
type ScopeReleased struct {
	quiet
	V         Version    `json:"v" cbor:"-"`
	Path      ScopePath  `json:"-"`
	Jobs      []JobID    `json:"jobs"` // stopped with the scope
	Kept      []JobID    `json:"kept"`
	Survivors []Survivor `json:"survivors"`
}

// ScopeList answers ListScopes, parents first.
type ScopeList struct {
	quiet
	V      Version     `json:"v" cbor:"-"`
	Scopes []ScopeInfo `json:"scopes"`
}

// ScopeInfo describes a scope; the counts include its sub-scopes.
type ScopeInfo struct {
	Path     ScopePath  `json:"path"`
	Jobs     int        `json:"jobs"` // live
	Sessions int        `json:"sessions"`
	Quota    ScopeQuota `json:"quota"`
}

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
