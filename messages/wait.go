package messages

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The wait conversation: one WaitJobs, exactly one answer.
//
//	client --WaitJobs--> supervisor (spawns a waiter)
//	client <--WaitEnded | RequestRejected-- waiter
//	client --AbandonWait--> supervisor

// WaitJobs asks for an answer when any or all of Jobs meet Condition.
type WaitJobs struct {
	quiet
	Jobs      []JobID       `json:"jobs"`
	Any       bool          `json:"any,omitzero"` // one job is enough
	Condition Condition     `json:"condition,omitzero"`
	Timeout   time.Duration `json:"timeout_ms,omitzero"` // 0: none
}

// AbandonWait reports that its sender waits no longer for its WaitJobs, so the probes of
// the wait end. It has no answer; a reply to the wait may still arrive.
type AbandonWait struct{ quiet }

// ConditionKind is what a wait waits for.
type ConditionKind string

// The kinds.
const (
	UntilExit    ConditionKind = "exit"    // the job has finished; the default
	UntilPattern ConditionKind = "pattern" // its output matches Pattern, or did already
	UntilPort    ConditionKind = "port"    // it listens on Port, or Host does
	UntilQuiet   ConditionKind = "quiet"   // it has written nothing for Quiet
	UntilInput   ConditionKind = "input"   // it waits for input
	UntilBlocked ConditionKind = "blocked" // its output waits for storage, or did
)

// Condition is what a job must do for a wait to end. A job that finished without it can no
// longer meet it.
type Condition struct {
	Kind    ConditionKind `json:"kind,omitzero"`
	Pattern string        `json:"pattern,omitzero"` // RE2, over the bytes of Stream; CRLF matches as a newline unless the pattern names a CR
	Stream  Stream        `json:"stream,omitzero"`
	Port    int           `json:"port,omitzero"`
	Host    string        `json:"host,omitzero"` // "": the job itself
	Quiet   time.Duration `json:"quiet_ms,omitzero"`
}

// Bounds of a wait.
const (
	MaxAwaited = 1024 // jobs
	MaxPattern = 4096 // bytes
	MaxHost    = 255  // bytes
)

// WaitEnded answers WaitJobs.
type WaitEnded struct {
	quiet
	V          Version  `json:"v" cbor:"-"`
	Satisfied  bool     `json:"satisfied"`
	TimedOut   bool     `json:"timed_out"`
	Impossible bool     `json:"impossible"` // no job can meet it any more
	Met        []JobID  `json:"met"`
	Jobs       []Record `json:"jobs"` // all of them, as they are now
}

// WaitReply is what a client may receive in answer to WaitJobs.
type WaitReply interface{ awaitReply() }

func (WaitEnded) awaitReply()       {}
func (RequestRejected) awaitReply() {}

// Refuse implements Refusable.
func (WaitJobs) Refuse(e *Error) any { return RequestRejected{Err: *e} }

// Check returns what is wrong with a wait, or nil.
func (r WaitJobs) Check() *Error {
	switch {
	case len(r.Jobs) == 0:
		return Invalid("jobs", "the wait names no job; name at least one")
	case len(r.Jobs) > MaxAwaited:
		return &Error{
			Code: TooLarge, Reason: "jobs",
			Message: fmt.Sprintf("the wait names %d jobs; at most %d are allowed", len(r.Jobs), MaxAwaited),
		}
	case r.Timeout < 0 || r.Timeout > MaxDuration:
		return Invalid("timeout", fmt.Sprintf("the timeout is %s; it must be positive and at most ten years", r.Timeout))
	case r.Condition.Stream > Stderr:
		return NoStream(r.Condition.Stream.String())
	}
	return r.Condition.check()
}

func (c Condition) check() *Error {
	switch c.Kind {
	case "", UntilExit, UntilInput, UntilBlocked:
		return nil
	case UntilPattern:
		return c.checkPattern()
	case UntilQuiet:
		if c.Quiet <= 0 || c.Quiet > MaxDuration {
			return Invalid("quiet", fmt.Sprintf("the quiet time is %s; it must be positive and at most ten years", c.Quiet))
		}
		return nil
	case UntilPort:
		if c.Port < 1 || c.Port > 65535 {
			return Invalid("port", fmt.Sprintf("invalid port %d: give a number from 1 to 65535", c.Port))
		}
		if len(c.Host) > MaxHost || strings.ContainsAny(c.Host, "/ \x00") {
			return Invalid("host", fmt.Sprintf("invalid host %.64q: give a name or an address", c.Host))
		}
		return nil
	}
	return Invalid("condition", fmt.Sprintf("invalid condition %q: use exit, pattern, port, quiet, input or blocked", c.Kind))
}

func (c Condition) checkPattern() *Error {
	switch {
	case c.Pattern == "":
		return Invalid("pattern", "the pattern is empty; give a regular expression")
	case len(c.Pattern) > MaxPattern:
		return &Error{
			Code: TooLarge, Reason: "pattern",
			Message: fmt.Sprintf("the pattern has %d bytes; at most %d are allowed", len(c.Pattern), MaxPattern),
		}
	}
	if _, err := regexp.Compile(c.Pattern); err != nil {
		return Invalid("pattern", fmt.Sprintf("%s; use the syntax of RE2", err))
	}
	return nil
}
