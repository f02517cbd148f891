package messages

// Code is the machine-readable kind of an error. Error.Reason refines it.
type Code string

// The codes. The shell_… codes belong to the copilot dialect; all other parts use
// not_found and job_finished.
const (
	NotFound           Code = "not_found"
	Busy               Code = "busy"       // the node has too many jobs that have not started
	QueueFull          Code = "queue_full" // the session has too many queued jobs
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
	Refused            Code = "refused"  // by a policy
	Conflict           Code = "conflict" // with another request or job: its idempotency key, its name
	OutputUnavailable  Code = "output_unavailable"
	ShuttingDown       Code = "shutting_down"
	Unsupported        Code = "unsupported"
	Internal           Code = "internal"            // a fault of troupe: an actor died while it held the request
	KeeperUnresponsive Code = "keeper_unresponsive" // the keeper lives but does not answer; its jobs run on

	ShellUnknown       Code = "shell_unknown"
	ShellCompleted     Code = "shell_completed"
	ShellErrorShutdown Code = "shell_error_shutdown"
	ShellStopped       Code = "shell_stopped"
	ShellNotFound      Code = "shell_not_found"
)

// Error is an error with a code for programs, a sentence for people and, where the
// reader can act, a hint.
type Error struct {
	Code    Code   `json:"code" cbor:"1,keyasint,omitzero"`
	Reason  string `json:"reason,omitempty" cbor:"2,keyasint,omitzero"` // "ENOENT", "empty_command", a parameter's name
	Message string `json:"message" cbor:"3,keyasint,omitzero"`
	Hint    string `json:"hint,omitempty" cbor:"4,keyasint,omitzero"`
}

// Error returns the message, followed by the hint in parentheses.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Is reports whether target has the same code and, if target has one, the same reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

// Refusal returns the error of a reply that refuses its request, or nil.
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

// Passing reports whether the error comes from a part of the node that is restarting.
// Nothing was changed then, and the same request can be sent again.
func (e *Error) Passing() bool {
	return e.Code == Internal || e.Code == OutputUnavailable && e.Reason == "moved"
}

// Invalid returns the error for a bad parameter: reason names it, message says what is
// wrong.
func Invalid(reason, message string) *Error {
	return &Error{Code: InvalidParams, Reason: reason, Message: message}
}

// NoSuchStream returns the error for a stream that a job does not have.
func NoSuchStream(job JobID, stream Stream) *Error {
	return Invalid("stream", "job "+string(job)+" has no stream "+stream.String()+"; a job's streams are fixed at its start")
}

// OnlyEndOfBoth returns the error for a view of lines of two streams.
func OnlyEndOfBoth() *Error {
	return &Error{
		Code: Unsupported, Reason: "stream", Message: "stream=both has no view of lines, only the end of the output",
		Hint: "leave line, limit, head and tail out, or ask for stdout or stderr",
	}
}

// OutputForgotten returns the error for an output that had bytes and has none now.
func OutputForgotten() *Error {
	return &Error{Code: OutputUnavailable, Reason: "forgotten", Message: "the output of the job is no longer kept", Hint: "read outputs sooner, or raise the output quota"}
}

// NoSuchJob returns the error for an unknown job.
func NoSuchJob(id JobID) *Error {
	return &Error{Code: NotFound, Reason: "job", Message: "there is no job " + string(id), Hint: "list the jobs to see what there is"}
}
