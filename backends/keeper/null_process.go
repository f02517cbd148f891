package keeper

import (
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// nullProcess is the process of a job that reached no keeper.
type nullProcess struct{}

func (nullProcess) Output(messages.Stream) (spill.Log, error) {
	return nil, refused(messages.OutputUnavailable, "unborn", "the job was never started: it has no output", "")
}
func (nullProcess) Do(backends.Control)                 {}
func (nullProcess) Stop(messages.Cause, time.Duration)  {}
func (nullProcess) NotifyGrowth(messages.Stream, int64) {}
func (nullProcess) SaveMeta([]byte)                     {}
func (nullProcess) Settle(uint64)                       {}
func (nullProcess) Release()                            {}

// cannot reports a job that reaches no keeper.
func cannot(facts backends.FactHandler, why *messages.Error) backends.Process {
	go facts(messages.ProcessFailed{Err: *why, Shell: cannotRun, At: time.Now()})
	return nullProcess{}
}

// cannotRun is a shell's exit status for a command that it cannot execute.
const cannotRun = 126
