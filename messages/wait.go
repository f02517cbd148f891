package messages

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The wait conversation: one WaitJobs, exactly one answer.
//
//	client --WaitJobs--> supervisor (spawns a watch)
//	client <--WaitEnded | RequestRejected-- watch
//	client --AbandonWait--> supervisor

// WaitJobs asks to be told when any or all of Jobs meet Condition.
type WaitJobs struct {
	quiet
	Jobs      []JobID
	Any       bool // one is enough
	Condition Condition
	Timeout   time.Duration // 0: none
}

// AbandonWait says that its sender waits no longer for the WaitJobs that it sent: the
// jobs are not looked at for it any more. It has no answer; one to the wait may still be
// on its way.
type AbandonWait struct{ quiet }

// ConditionKind chooses what is waited for.
type ConditionKind string

// The kinds.
const (
	UntilExit    ConditionKind = "exit"    // the job has finished; the default
	UntilPattern ConditionKind = "pattern" // its output matches Pattern, at once if it did already
	UntilPort    ConditionKind = "port"    // it listens on Port; with a Host, that does
	UntilQuiet   ConditionKind = "quiet"   // it has written nothing for Quiet
	UntilInput   ConditionKind = "input"   // it waits for input
	UntilBlocked ConditionKind = "blocked" // its output waits for room, or has
)

// Condition is what a job must do for a wait to end. A job that finished
// without doing it can no longer.
type Condition struct {
	Kind    ConditionKind
	Pattern string // RE2, over the bytes of Stream; unless it names a CR, a CRLF there is a newline
	Stream  Stream
	Port    int
	Host    string // "": the job itself
	Quiet   time.Duration
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
	Satisfied  bool
	TimedOut   bool
	Impossible bool // it can no longer be satisfied
	Met        []JobID
	Jobs       []Job // all of them, as they stand
}

// WaitReply is what a client may receive in answer to WaitJobs.
type WaitReply interface{ awaitReply() }

func (WaitEnded) awaitReply()       {}
func (RequestRejected) awaitReply() {}

// Refuse implements Refusable.
func (WaitJobs) Refuse(e *Error) any { return RequestRejected{Err: *e} }

// Check says what is wrong with a wait, before anything of it exists.
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
		return Invalid("stream", fmt.Sprintf("%d is no stream; use merged, stdout or stderr", r.Condition.Stream))
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
			return Invalid("port", fmt.Sprintf("%d is no port; give a number from 1 to 65535", c.Port))
		}
		if len(c.Host) > MaxHost || strings.ContainsAny(c.Host, "/ \x00") {
			return Invalid("host", fmt.Sprintf("%.64q is no host; give a name or an address", c.Host))
		}
		return nil
	}
	return Invalid("condition", fmt.Sprintf("%q is nothing that can be waited for; use exit, pattern, port, quiet, input or blocked", c.Kind))
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
