package wire

import (
	"encoding/base64"
	"unicode/utf8"

	"troupe/messages"
)

// Stop is the body of POST /v1/jobs/{id}/stop; with a scope, and perhaps a
// session of it, that of POST /v1/stop.
type Stop struct {
	Scope   string `json:"scope,omitempty"`
	Session string `json:"session,omitempty"`
	Grace   *int64 `json:"grace_ms,omitempty"` // 0: none
	Reason  string `json:"reason,omitempty"`
}

// Signal is the body of POST /v1/jobs/{id}/signal.
type Signal struct {
	Signal string `json:"signal"`
	Tree   bool   `json:"tree,omitempty"`
}

// Promote is the body of POST /v1/jobs/{id}/promote.
type Promote struct {
	Keep *bool `json:"keep,omitempty"` // it stays when the client of its scope leaves; absent: it does
}

// Remove is the body of POST /v1/remove.
type Remove struct {
	Jobs []string `json:"jobs"`
}

// NewRemove is the body of a request.
func NewRemove(jobs []messages.JobID) Remove {
	w := Remove{Jobs: []string{}}
	for _, id := range jobs {
		w.Jobs = append(w.Jobs, string(id))
	}
	return w
}

// MaxRemoved is how many jobs one request removes.
const MaxRemoved = 1000

// Empty is the body of a request that says all in its path: {}.
type Empty struct{}

// Deadline is the body of POST /v1/jobs/{id}/deadline: one of the three.
type Deadline struct {
	None   bool   `json:"none,omitempty"`
	Extend *int64 `json:"extend_ms,omitempty"` // more than is set now
	After  *int64 `json:"after_ms,omitempty"`  // from now
}

// Change is the request that the body stands for.
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

// NewDeadline is the body of a request.
func NewDeadline(r messages.ChangeDeadline) Deadline {
	return Deadline{None: r.None, Extend: positive(r.Extend), After: positive(r.After)}
}

// Input is the body of POST /v1/jobs/{id}/input: one of text, bytes, keys and what is
// pasted.
type Input struct {
	Data   *string `json:"data,omitempty"`
	Base64 *string `json:"data_base64,omitempty"`
	Keys   *string `json:"keys,omitempty"`  // shell.EncodeKeys: as the program on the terminal expects them now
	Paste  *string `json:"paste,omitempty"` // in brackets, where it has asked for them
	Raw    bool    `json:"raw,omitempty"`   // on a terminal: lines longer than it can take
}

// Bytes are what is to be written; nil: it depends on the job, and is in Keys or Paste.
func (w Input) Bytes() ([]byte, *messages.Error) {
	given := 0
	for _, text := range []*string{w.Data, w.Base64, w.Keys, w.Paste} {
		if text != nil {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, messages.Invalid("data", "give one of data, data_base64, keys and paste")
	case w.Data != nil:
		return []byte(*w.Data), nil
	case w.Base64 == nil:
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(*w.Base64)
	if err != nil {
		return nil, messages.Invalid("data_base64", "data_base64 is no base64: "+err.Error())
	}
	return b, nil
}

// Encodable is as that of a run.
func (w Input) Encodable() error {
	for _, text := range []*string{w.Keys, w.Paste} {
		if text != nil && !utf8.ValidString(*text) {
			e := noText(*text)
			e.Hint = "write it as data, of which each byte is passed on: troupe write without --paste and --keys"
			return e
		}
	}
	return nil
}

// NewInput is the body for some bytes.
func NewInput(b []byte, raw bool) Input {
	text := string(b)
	if utf8.Valid(b) {
		return Input{Data: &text, Raw: raw}
	}
	text = base64.StdEncoding.EncodeToString(b)
	return Input{Base64: &text, Raw: raw}
}

// Resize is the body of POST /v1/jobs/{id}/resize.
type Resize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Size is the terminal's, or what is wrong with it.
func (w Resize) Size() (messages.Terminal, *messages.Error) {
	return messages.Terminal{Rows: w.Rows, Cols: w.Cols}, Size(w).check()
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

// Lease is the body of POST /v1/leases. The quota is that of a scope that is not open yet.
type Lease struct {
	Path  string     `json:"path"`
	Quota ScopeQuota `json:"quota"`
}

// Leave is the body of POST /v1/leave.
type Leave struct {
	Path   string `json:"path"`
	Grace  *int64 `json:"grace_ms,omitempty"` // 0: none
	Reason string `json:"reason,omitempty"`
}

// ScopeQuota bounds a scope; 0 is no bound.
type ScopeQuota struct {
	Jobs     int `json:"jobs"`
	Sessions int `json:"sessions"`
}

// Await is the body of POST /v1/wait.
type Await struct {
	Jobs      []string  `json:"jobs"`
	Any       bool      `json:"any,omitempty"`
	Condition Condition `json:"condition"`
	Timeout   *int64    `json:"timeout_ms,omitempty"`
}

// Condition is what a job must do: exit, pattern, port, quiet, input or blocked.
type Condition struct {
	Kind    string `json:"kind,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Stream  string `json:"stream,omitempty"`
	Port    int    `json:"port,omitempty"`
	Host    string `json:"host,omitempty"` // "": the job itself
	Quiet   *int64 `json:"quiet_ms,omitempty"`
}

// Request is the request that the body stands for.
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

// NewAwait is the body of a request.
func NewAwait(r messages.WaitJobs) Await {
	w := Await{Any: r.Any, Timeout: positive(r.Timeout), Condition: Condition{
		Kind: string(r.Condition.Kind), Pattern: r.Condition.Pattern, Stream: r.Condition.Stream.String(), Port: r.Condition.Port, Host: r.Condition.Host, Quiet: positive(r.Condition.Quiet),
	}}
	for _, id := range r.Jobs {
		w.Jobs = append(w.Jobs, string(id))
	}
	return w
}

// StreamOf is the stream of a name; "" is merged.
func StreamOf(name string) (messages.Stream, *messages.Error) {
	for _, s := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
		if name == s.String() {
			return s, nil
		}
	}
	if name == "" {
		return messages.Merged, nil
	}
	return 0, messages.Invalid("stream", "there is no such stream; use merged, stdout or stderr")
}

// ShutDown is the body of POST /v1/shutdown.
type ShutDown struct {
	StopJobs bool   `json:"stop_jobs,omitempty"` // else they live on, where they can
	Grace    *int64 `json:"grace_ms,omitempty"`
	Reason   string `json:"reason,omitempty"`
}
