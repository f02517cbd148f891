package wire

import (
	"encoding/json"

	"troupe/messages"
)

// Result answers POST /v1/jobs: the job object, with "text" and "truncated" of
// what it wrote where the request asked for a text.
type Result struct {
	Job  messages.Job
	Text *Shown
}

// Shown is a bounded look at the end of what a job wrote.
type Shown struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// MarshalJSON implements json.Marshaler: the fields of both, in one object.
func (r Result) MarshalJSON() ([]byte, error) {
	job, err := r.Job.MarshalJSON()
	if err != nil || r.Text == nil {
		return job, err
	}
	text, err := json.Marshal(r.Text)
	return append(append(job[:len(job)-1], ','), text[1:]...), err
}

// UnmarshalJSON implements json.Unmarshaler. It may be asked by itself: it reads
// the text once, and a client waits for it.
func (r *Result) UnmarshalJSON(b []byte) error {
	var o resultObject
	if !readAll(b, &o, result) {
		o = resultObject{}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
	}
	r.Job = o.job()
	r.Text = nil
	if o.Text != nil {
		r.Text = &Shown{*o.Text, o.Truncated}
	}
	return nil
}

// JobList answers GET /v1/jobs.
type JobList struct {
	V     int             `json:"v"`
	Jobs  []Job           `json:"jobs"`
	Tasks []messages.Task `json:"tasks"`
}

// Removed answers POST /v1/remove: each job that was named is in one of the two.
type Removed struct {
	V       int       `json:"v"`
	Jobs    []Job     `json:"jobs"` // as they were
	Refused []Refused `json:"refused"`
}

// Refused is why a job was not removed.
type Refused struct {
	Job   string         `json:"job"` // as it was named
	Error messages.Error `json:"error"`
}

// Stopped answers a stop.
type Stopped struct {
	V         int                 `json:"v"`
	Jobs      []messages.JobID    `json:"jobs"`
	Survivors []messages.Survivor `json:"survivors"`
	Already   bool                `json:"already"` // it had finished before
}

// Acknowledged answers a request that has nothing to tell but that it was done.
type Acknowledged struct {
	V int `json:"v"`
}

// Written answers an input: all up to the byte Through, counted from the job's
// start, is with the kernel.
type Written struct {
	V       int   `json:"v"`
	Through int64 `json:"through"`
}

// Page answers GET /v1/jobs/{id}/text.
type Page struct {
	V          int                  `json:"v"`
	Job        messages.JobID       `json:"job"`
	Stream     string               `json:"stream"`
	Text       string               `json:"text"`
	From       int64                `json:"from"`
	To         int64                `json:"to"`
	Line       int64                `json:"line"`
	Bytes      int64                `json:"bytes"`
	Lines      *int64               `json:"lines"` // nil: nobody has counted them
	LinesExact bool                 `json:"lines_exact"`
	Truncated  bool                 `json:"truncated"`
	Gaps       []messages.OutputGap `json:"gaps"`
	Closed     bool                 `json:"closed"`
}

// Counted is how many lines were counted.
func (p Page) Counted() int64 {
	if p.Lines == nil {
		return 0
	}
	return *p.Lines
}

// WaitResult answers a wait.
type WaitResult struct {
	V          int              `json:"v"`
	Satisfied  bool             `json:"satisfied"`
	TimedOut   bool             `json:"timed_out"`
	Impossible bool             `json:"impossible"`
	Met        []messages.JobID `json:"met"`
	Jobs       []Job            `json:"jobs"`
}

// SessionReply answers POST /v1/sessions.
type SessionReply struct {
	V       int                  `json:"v"`
	Session messages.SessionInfo `json:"session"`
}

// SessionList answers GET /v1/sessions.
type SessionList struct {
	V        int                    `json:"v"`
	Sessions []messages.SessionInfo `json:"sessions"`
	Recent   []messages.SessionEnd  `json:"recent"` // the last one first; nothing, unless it was asked for
}

// NewSessionList is the reply of a list.
func NewSessionList(list messages.SessionList) SessionList {
	return SessionList{V: Version, Sessions: List(list.Sessions), Recent: List(list.Recent)}
}

// Closed answers DELETE of a session or a scope.
type Closed struct {
	V         int                 `json:"v"`
	Reason    string              `json:"reason"`
	Jobs      []messages.JobID    `json:"jobs"` // that were stopped for it; of a scope
	Survivors []messages.Survivor `json:"survivors"`
}

// ScopeReleased answers POST /v1/leave, and DELETE of a lease. Of one that was not the last of its scope nothing ends.
type ScopeReleased struct {
	V         int                 `json:"v"`
	Jobs      []messages.JobID    `json:"jobs"` // that were stopped for it
	Kept      []messages.JobID    `json:"kept"` // that go on
	Survivors []messages.Survivor `json:"survivors"`
}

// ScopeReply answers POST /v1/scopes.
type ScopeReply struct {
	V    int                `json:"v"`
	Path messages.ScopePath `json:"path"`
}

// Scope is what is known of a scope; its sub-scopes are counted in.
type Scope struct {
	Path     messages.ScopePath `json:"path"`
	Jobs     int                `json:"jobs"`
	Sessions int                `json:"sessions"`
	Quota    ScopeQuota         `json:"quota"`
}

// ScopeList answers GET /v1/scopes.
type ScopeList struct {
	V      int     `json:"v"`
	Scopes []Scope `json:"scopes"`
}

// Stats answers GET /v1/stats.
type Stats struct {
	V             int                    `json:"v"`
	Jobs          map[messages.State]int `json:"jobs"` // by state
	Scopes        int                    `json:"scopes"`
	Sessions      int                    `json:"sessions"`
	Connections   int                    `json:"connections"`
	Subscriptions int                    `json:"subscriptions"`
	UptimeMS      int64                  `json:"uptime_ms"`
	Version       string                 `json:"version"` // of the daemon, as About has it
	PID           int                    `json:"pid"`
}

// Health answers GET /v1/health.
type Health struct {
	V       int    `json:"v"`
	OK      bool   `json:"ok"`
	Keeper  string `json:"keeper"`  // why the keeper of the jobs does not answer; "": it does
	Journal string `json:"journal"` // why nothing can be recorded, so that no new job is taken; "": it can
}

// About answers GET /v1/version.
type About struct {
	V       int    `json:"v"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
	State   string `json:"state"`  // the directory of the daemon; "": there is none
	Keeper  string `json:"keeper"` // the version of what holds the jobs; "": there is none
}

// ShutdownResult answers POST /v1/shutdown.
type ShutdownResult struct {
	V         int                 `json:"v"`
	Survivors []messages.Survivor `json:"survivors"`
}

// List is never null in JSON.
func List[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
