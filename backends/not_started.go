package backends

import (
	"time"

	"troupe/messages"
	"troupe/spill"
)

// CannotRun is a shell's exit status for a command that exists but cannot run.
const CannotRun = 126

// StartFailure builds the fact of a job that could not start.
func StartFailure(err messages.Error) messages.ProcessFailed {
	return messages.ProcessFailed{Err: err, Shell: CannotRun, At: time.Now()}
}

// FailStart reports a job that did not reach an engine, and returns its process.
func FailStart(facts FactHandler, err messages.Error) Process {
	go facts(StartFailure(err))
	return NotStarted{}
}

// NotStarted is the Process of a job that was never started: its methods do nothing.
type NotStarted struct {
	Reason string // of the error of Output
}

// Output implements Process.
func (p NotStarted) Output(messages.Stream) (spill.Log, error) {
	return nil, &messages.Error{Code: messages.OutputUnavailable, Reason: p.Reason, Message: "the job has no output: it never started"}
}
func (NotStarted) Do(Control)                          {}
func (NotStarted) Stop(messages.Cause, time.Duration)  {}
func (NotStarted) NotifyGrowth(messages.Stream, int64) {}
func (NotStarted) SaveMeta([]byte)                     {}
func (NotStarted) Settle(uint64)                       {}
func (NotStarted) Release()                            {}
