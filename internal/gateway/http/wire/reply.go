package wire

import (
	"errors"

	"github.com/go-json-experiment/json"

	"troupe/messages"
)

// Result is the reply of POST /v1/jobs: the job object, with text and truncated if the
// request asked for text.
type Result struct {
	Job  messages.Record
	Text *Shown
}

// Shown is the end of a job's output, bounded.
type Shown struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// MarshalJSON implements json.Marshaler. It merges the fields of both into one object.
func (r Result) MarshalJSON() ([]byte, error) {
	job, err := r.Job.MarshalJSON()
	if err != nil || r.Text == nil {
		return job, err
	}
	text, err := json.Marshal(r.Text)
	return append(append(job[:len(job)-1], ','), text[1:]...), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Result) UnmarshalJSON(b []byte) error {
	var o struct {
		Text      *string `json:"text"`
		Truncated bool    `json:"truncated"`
	}
	if err := errors.Join(r.Job.UnmarshalJSON(b), json.Unmarshal(b, &o)); err != nil {
		return err
	}
	r.Text = nil
	if o.Text != nil {
		r.Text = &Shown{*o.Text, o.Truncated}
	}
	return nil
}

// JobList is the reply of GET /v1/jobs.
type JobList struct {
	V     int               `json:"v"`
	Jobs  []messages.Record `json:"jobs"`
	Tasks []messages.Task   `json:"tasks"`
}

// Removed is the reply of POST /v1/remove. Each requested job is in one of the two
// lists.
type Removed struct {
	V       int               `json:"v"`
	Jobs    []messages.Record `json:"jobs"` // records before the removal
	Refused []Refused         `json:"refused"`
}

// Refused is a job that was not removed, and why.
type Refused struct {
	Job   string         `json:"job"` // id from the request
	Error messages.Error `json:"error"`
}

// Stopped is the reply of a stop.
type Stopped struct {
	V         int                 `json:"v"`
	Jobs      []messages.JobID    `json:"jobs"`
	Survivors []messages.Survivor `json:"survivors"`
	Already   bool                `json:"already"` // the job had finished before
}

// Acknowledged is the reply of a request without a result.
type Acknowledged struct {
	V int `json:"v"`
}

// Written is the reply of an input. The kernel has all bytes up to Through, counted
// from the job's start.
type Written struct {
	V       int   `json:"v"`
	Through int64 `json:"through"`
}

// Page is the reply of GET /v1/jobs/{id}/text.
type Page struct {
	V          int                  `json:"v"`
	Job        messages.JobID       `json:"job"`
	Stream     string               `json:"stream"`
	Text       string               `json:"text"`
	From       int64                `json:"from"`
	To         int64                `json:"to"`
	Line       int64                `json:"line"`
	Bytes      int64                `json:"bytes"`
	Lines      *int64               `json:"lines"` // nil: not counted
	LinesExact bool                 `json:"lines_exact"`
	Truncated  bool                 `json:"truncated"`
	Gaps       []messages.OutputGap `json:"gaps"`
	Closed     bool                 `json:"closed"`
}

// Counted returns the number of counted lines.
func (p Page) Counted() int64 {
	if p.Lines == nil {
		return 0
	}
	return *p.Lines
}

// WaitResult is the reply of a wait.
type WaitResult struct {
	V          int               `json:"v"`
	Satisfied  bool              `json:"satisfied"`
	TimedOut   bool              `json:"timed_out"`
	Impossible bool              `json:"impossible"`
	Met        []messages.JobID  `json:"met"`
	Jobs       []messages.Record `json:"jobs"`
}

// SessionReply is the reply of POST /v1/sessions.
type SessionReply struct {
	V       int                  `json:"v"`
	Session messages.SessionInfo `json:"session"`
}

// SessionList is the reply of GET /v1/sessions.
type SessionList struct {
	V        int                    `json:"v"`
	Sessions []messages.SessionInfo `json:"sessions"`
	Recent   []messages.SessionEnd  `json:"recent"` // newest first; empty unless requested
}

// NewSessionList returns the reply for a list.
func NewSessionList(list messages.SessionList) SessionList {
	return SessionList{V: Version, Sessions: List(list.Sessions), Recent: List(list.Recent)}
}

// Closed is the reply of DELETE of a session or a scope.
type Closed struct {
	V         int                 `json:"v"`
	Reason    string              `json:"reason"`
	Jobs      []messages.JobID    `json:"jobs"` // jobs that this stopped; only of a scope
	Survivors []messages.Survivor `json:"survivors"`
}

// ScopeReleased is the reply of POST /v1/leave and of DELETE of a lease. It is empty if
// the scope has other leases.
type ScopeReleased struct {
	V         int                 `json:"v"`
	Jobs      []messages.JobID    `json:"jobs"` // jobs that this stopped
	Kept      []messages.JobID    `json:"kept"` // jobs that keep running
	Survivors []messages.Survivor `json:"survivors"`
}

// ScopeReply is the reply of POST /v1/scopes.
type ScopeReply struct {
	V    int                `json:"v"`
	Path messages.ScopePath `json:"path"`
}

// Scope describes a scope. Its counts include its sub-scopes.
type Scope struct {
	Path     messages.ScopePath `json:"path"`
	Jobs     int                `json:"jobs"`
	Sessions int                `json:"sessions"`
	Quota    ScopeQuota         `json:"quota"`
}

// ScopeList is the reply of GET /v1/scopes.
type ScopeList struct {
	V      int     `json:"v"`
	Scopes []Scope `json:"scopes"`
}

// Stats is the reply of GET /v1/stats.
type Stats struct {
	V             int                    `json:"v"`
	Jobs          map[messages.State]int `json:"jobs"` // by state
	Scopes        int                    `json:"scopes"`
	Sessions      int                    `json:"sessions"`
	Connections   int                    `json:"connections"`
	Subscriptions int                    `json:"subscriptions"`
	UptimeMS      int64                  `json:"uptime_ms"`
	Version       string                 `json:"version"` // of the daemon, as in About
	PID           int                    `json:"pid"`
}

// Health is the reply of GET /v1/health.
type Health struct {
	V       int    `json:"v"`
	OK      bool   `json:"ok"`
	Keeper  string `json:"keeper"`  // why the keeper does not answer; "": it does
	Journal string `json:"journal"` // why the journal cannot be written and no new job is admitted; "": it can
}

// About is the reply of GET /v1/version.
type About struct {
	V       int    `json:"v"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
	State   string `json:"state"`  // the daemon's directory; "": none
	Keeper  string `json:"keeper"` // version of the keeper; "": none
}

// ShutdownResult is the reply of POST /v1/shutdown.
type ShutdownResult struct {
	V         int                 `json:"v"`
	Survivors []messages.Survivor `json:"survivors"`
}

// List returns v, which is never null in JSON.
func List[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
