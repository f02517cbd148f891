package troupe

import (
	"cmp"
	"errors"
	"fmt"

	"troupe/internal/node"
	"troupe/messages"
)

// Errors that errors.Is finds in an *ExitError.
var (
	ErrTimedOut   = errors.New("the job ran longer than its timeout, or printed nothing for its idle timeout")
	ErrCancelled  = errors.New("the job was stopped")
	ErrNotStarted = errors.New("the job could not be started")
	ErrLost       = errors.New("the end of the job is unknown")
)

// ErrClosed is the error of a node in this process that has ended.
var ErrClosed = node.ErrClosed

// SurvivorsError names processes that could not be stopped.
type SurvivorsError = node.SurvivorsError

// ExitError is the error of a job that ended other than with exit 0. Record has all of it.
type ExitError struct{ Record Record }

// Error implements error.
func (e *ExitError) Error() string {
	job, end := e.Record, e.Record.End
	name := cmp.Or(job.Name, string(job.ID))
	switch end.Outcome {
	case messages.Exited:
		return fmt.Sprintf("job %s exited with %d", name, end.Shell())
	case messages.Signaled:
		return fmt.Sprintf("job %s was ended by signal %s", name, end.Signal)
	case messages.TimedOut:
		if end.Cause.By == messages.ByIdle {
			return fmt.Sprintf("job %s was stopped: %s", name, end.Cause.Reason)
		}
		return fmt.Sprintf("job %s was stopped after its timeout of %s", name, job.Timeout)
	case messages.FailedToStart, messages.Lost:
		return fmt.Sprintf("job %s: %s: %s", name, end.Outcome, end.Err.Error())
	}
	return fmt.Sprintf("job %s: %s", name, end.Outcome)
}

// Is reports whether the outcome is that of target: ErrTimedOut, ErrCancelled, ErrNotStarted
// or ErrLost.
func (e *ExitError) Is(target error) bool {
	of := map[messages.Outcome]error{
		messages.TimedOut: ErrTimedOut, messages.Cancelled: ErrCancelled, messages.FailedToStart: ErrNotStarted, messages.Lost: ErrLost,
	}[e.Record.End.Outcome]
	return of != nil && of == target
}

// Unwrap returns the *Error of a job that did not start or is lost.
func (e *ExitError) Unwrap() error {
	if e.Record.End.Err == (Error{}) {
		return nil
	}
	return &e.Record.End.Err
}

// endError returns the error of a job's end; nil for exit 0, and for a job that still runs.
func endError(job Record) error {
	if !job.State.Ended() || job.End.Outcome == messages.Exited && job.End.Shell() == 0 {
		return nil
	}
	return &ExitError{job}
}
