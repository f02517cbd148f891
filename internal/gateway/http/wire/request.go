package wire

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"troupe/messages"
)

// Stop is the body of POST /v1/jobs/{id}/stop and of POST /v1/stop. The latter names a
// scope, and perhaps a session.
type Stop struct {
	Scope   string `json:"scope,omitzero"`
	Session string `json:"session,omitzero"`
	Grace   *int64 `json:"grace_ms,omitzero"` // 0: none
	Reason  string `json:"reason,omitzero"`
}

// Signal is the body of POST /v1/jobs/{id}/signal.
type Signal struct {
	Signal string `json:"signal"`
	Tree   bool   `json:"tree,omitzero"`
}

// Promote is the body of POST /v1/jobs/{id}/promote.
type Promote struct {
	Keep *bool `json:"keep,omitzero"` // the job stays when the client of its scope leaves; absent: true
}

// Remove is the body of POST /v1/remove.
type Remove struct {
	Jobs []string `json:"jobs"`
}

// NewRemove returns the body for some jobs.
func NewRemove(jobs []messages.JobID) Remove {
	w := Remove{Jobs: []string{}}
	for _, id := range jobs {
		w.Jobs = append(w.Jobs, string(id))
	}
	return w
}

// MaxRemoved bounds the jobs of one request.
const MaxRemoved = 1000

// Empty is the body {} of a request whose path says all.
type Empty struct{}

// Deadline is the body of POST /v1/jobs/{id}/deadline, with one of its fields.
type Deadline struct {
	None   bool   `json:"none,omitzero"`
	Extend *int64 `json:"extend_ms,omitzero"` // added to the present deadline
	After  *int64 `json:"after_ms,omitzero"`  // from now
}

// Change returns the request that the body describes.
func (w Deadline) Change(job messages.JobID) (messages.ChangeDeadline, *messages.Error) {
	r := messages.ChangeDeadline{Job: job, None: w.None}
	given := 0
	for _, is := range []bool{w.None, w.Extend != nil, w.After != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return r, messages.Invalid("deadline", "give one of none, extend_ms and after_ms")
	}
	var err *messages.Error
	if r.Extend, err = span("extend_ms", w.Extend); err != nil {
		return r, err
	}
	r.After, err = span("after_ms", w.After)
	return r, err
}

// NewDeadline returns the body for a request.
func NewDeadline(r messages.ChangeDeadline) Deadline {
	return Deadline{None: r.None, Extend: positive(r.Extend), After: positive(r.After)}
}

// Input is the body of POST /v1/jobs/{id}/input: one of text, bytes, keys and a paste.
type Input struct {
	Data   *string `json:"data,omitzero"`
	Base64 *string `json:"data_base64,omitzero"`
	Keys   *string `json:"keys,omitzero"`  // encoded as the program on the terminal expects keys now
	Paste  *string `json:"paste,omitzero"` // with bracketed paste if the program has enabled it
	Raw    bool    `json:"raw,omitzero"`   // on a terminal: allow lines longer than it can take
}

// Write returns the request that the body describes.
func (w Input) Write(job messages.JobID) (messages.WriteInput, *messages.Error) {
	r, given := messages.WriteInput{Job: job, Raw: w.Raw}, 0
	for _, text := range []*string{w.Data, w.Base64, w.Keys, w.Paste} {
		if text != nil {
			given++
		}
	}
	switch {
	case given != 1:
		return r, messages.Invalid("data", "give one of data, data_base64, keys and paste")
	case w.Data != nil:
		r.Data = []byte(*w.Data)
	case w.Keys != nil:
		r.Keys = *w.Keys
	case w.Paste != nil:
		r.Paste = *w.Paste
	default:
		var err error
		if r.Data, err = base64.StdEncoding.DecodeString(*w.Base64); err != nil {
			return r, messages.Invalid("data_base64", "invalid base64 in data_base64: "+err.Error())
		}
	}
	return r, nil
}

// Encodable returns why JSON cannot carry the input, as for a run.
func (w Input) Encodable() error {
	for _, text := range []*string{w.Keys, w.Paste} {
		if text != nil && !utf8.ValidString(*text) {
			e := messages.Invalid("utf8", fmt.Sprintf("%.64q is not UTF-8 text, which a request to the daemon must be", *text))
			e.Hint = "write it as data, of which each byte is passed on: troupe write without --paste and --keys"
			return e
		}
	}
	return nil
}

// NewInput returns the body for a request.
func NewInput(r messages.WriteInput) Input {
	text := string(r.Data)
	switch {
	case r.Keys != "":
		return Input{Keys: &r.Keys, Raw: r.Raw}
	case r.Paste != "":
		return Input{Paste: &r.Paste, Raw: r.Raw}
	case utf8.Valid(r.Data):
		return Input{Data: &text, Raw: r.Raw}
	}
	text = base64.StdEncoding.EncodeToString(r.Data)
	return Input{Base64: &text, Raw: r.Raw}
}

// HandOver is the body of POST /v1/jobs/{id}/handover.
type HandOver struct {
	To string `json:"to"`
}

// OpenScope is the body of POST /v1/scopes.
type OpenScope struct {
	Path  string     `json:"path"`
	Quota ScopeQuota `json:"quota"`
}

// Lease is the body of POST /v1/leases. The quota applies if the scope is not open yet.
type Lease struct {
	Path  string     `json:"path"`
	Quota ScopeQuota `json:"quota"`
}

// Leave is the body of POST /v1/leave.
type Leave struct {
	Path   string `json:"path"`
	Grace  *int64 `json:"grace_ms,omitzero"` // 0: none
	Reason string `json:"reason,omitzero"`
}

// ScopeQuota bounds a scope; 0: no bound.
type ScopeQuota struct {
	Jobs     int `json:"jobs"`
	Sessions int `json:"sessions"`
}

// Await is the body of POST /v1/wait.
type Await struct {
	Jobs      []string  `json:"jobs"`
	Any       bool      `json:"any,omitzero"`
	Condition Condition `json:"condition"`
	Timeout   *int64    `json:"timeout_ms,omitzero"`
}

// Condition is what a wait expects of a job: exit, pattern, port, quiet, input or
// blocked.
type Condition struct {
	Kind    string `json:"kind,omitzero"`
	Pattern string `json:"pattern,omitzero"`
	Stream  string `json:"stream,omitzero"`
	Port    int    `json:"port,omitzero"`
	Host    string `json:"host,omitzero"` // "": the job itself
	Quiet   *int64 `json:"quiet_ms,omitzero"`
}

// Request returns the request that the body describes.
func (w Await) Request() (messages.WaitJobs, *messages.Error) {
	r := messages.WaitJobs{
		Any: w.Any, Condition: messages.Condition{Kind: messages.ConditionKind(w.Condition.Kind), Pattern: w.Condition.Pattern, Port: w.Condition.Port, Host: w.Condition.Host},
	}
	for _, id := range w.Jobs {
		r.Jobs = append(r.Jobs, messages.JobID(id))
	}
	var err *messages.Error
	if r.Condition.Stream, err = StreamOf(w.Condition.Stream); err != nil {
		return r, err
	}
	if r.Condition.Quiet, err = span("quiet_ms", w.Condition.Quiet); err != nil {
		return r, err
	}
	r.Timeout, err = span("timeout_ms", w.Timeout)
	return r, err
}

// NewAwait returns the body for a request.
func NewAwait(r messages.WaitJobs) Await {
	w := Await{Any: r.Any, Timeout: positive(r.Timeout), Condition: Condition{
		Kind: string(r.Condition.Kind), Pattern: r.Condition.Pattern, Stream: r.Condition.Stream.String(), Port: r.Condition.Port, Host: r.Condition.Host, Quiet: positive(r.Condition.Quiet),
	}}
	for _, id := range r.Jobs {
		w.Jobs = append(w.Jobs, string(id))
	}
	return w
}

// StreamOf returns the stream with a name; "" is merged.
func StreamOf(name string) (messages.Stream, *messages.Error) {
	for _, s := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
		if name == s.String() {
			return s, nil
		}
	}
	if name == "" {
		return messages.Merged, nil
	}
	return 0, messages.Invalid("stream", fmt.Sprintf("invalid stream %.64q: use merged, stdout or stderr", name))
}

// ShutDown is the body of POST /v1/shutdown.
type ShutDown struct {
	StopJobs bool   `json:"stop_jobs,omitzero"` // stop the jobs; false: they keep running where they can
	Grace    *int64 `json:"grace_ms,omitzero"`
	Reason   string `json:"reason,omitzero"`
}
