package messages

// Code is the kind of an error, for machines. A finer word is its Reason.
type Code string

// The codes. Those of the copilot dialect (shell_…) are that dialect's words;
// the core says not_found and job_finished.
const (
	NotFound           Code = "not_found"
	Busy               Code = "busy"       // the node has too many unstarted commands
	QueueFull          Code = "queue_full" // the session has
	InvalidParams      Code = "invalid_params"
	CwdNotFound        Code = "cwd_not_found"
	CwdNotDir          Code = "cwd_not_dir"
	EnvRefused         Code = "env_refused"
	TooLarge           Code = "too_large"
	JobFinished        Code = "job_finished"
	NoInput            Code = "no_input"
	LineTooLong        Code = "line_too_long"
	SessionClosedCode  Code = "session_closed"
	ResourceExhausted  Code = "resource_exhausted"
	SpawnFailed        Code = "spawn_failed"
	SandboxUnavailable Code = "sandbox_unavailable"
	Refused            Code = "refused"  // policy
	Conflict           Code = "conflict" // an idempotency key with another request behind it
	OutputUnavailable  Code = "output_unavailable"
	ShuttingDown       Code = "shutting_down"
	Unsupported        Code = "unsupported"
	Internal           Code = "internal"            // a fault of ours: an actor died while it held the request
	KeeperUnresponsive Code = "keeper_unresponsive" // it lives and says nothing: its jobs live, too

	ShellUnknown       Code = "shell_unknown"
	ShellCompleted     Code = "shell_completed"
	ShellErrorShutdown Code = "shell_error_shutdown"
	ShellStopped       Code = "shell_stopped"
	ShellNotFound      Code = "shell_not_found"
)

// Error is a code for machines, a finer reason, a sentence for people and,
// where there is something to do, a hint that says what.
type Error struct {
	Code    Code   `json:"code"`
	Reason  string `json:"reason,omitempty"` // "ENOENT", "empty_command", a parameter's name
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Error is the sentence, with the hint behind it.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Is matches an error of the same code; a target with a reason wants that too.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

// Refusal is the error in a reply that refuses its request, or nil.
func Refusal(reply any) error {
	switch r := reply.(type) {
	case CommandRejected:
		return &r.Err
	case RequestRejected:
		return &r.Err
	case JobMissing:
		return &r.Err
	}
	return nil
}

// Passing says whether the refusal is of a part of the node that is being made
// anew: nothing is harmed, and the same question can be asked again.
func (e *Error) Passing() bool {
	return e.Code == Internal || e.Code == OutputUnavailable && e.Reason == "moved"
}

// Invalid is a bad parameter: reason names it, message says what is wrong.
func Invalid(reason, message string) *Error {
	return &Error{Code: InvalidParams, Reason: reason, Message: message}
}

// NoSuchStream is the answer to a request about a stream that a job does not have.
func NoSuchStream(job JobID, stream Stream) *Error {
	return Invalid("stream", "job "+string(job)+" has no stream "+stream.String()+": its streams were fixed at its start")
}

// NoSuchJob is the answer to a request about a job that is not there.
func NoSuchJob(id JobID) *Error {
	return &Error{Code: NotFound, Reason: "job", Message: "there is no job " + string(id), Hint: "list the jobs to see what there is"}
}
