package keeper

import (
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// none is no process: what could not even be asked of a keeper.
type none struct{}

func (none) Output(messages.Stream) (spill.Log, error) {
	return nil, refused(messages.OutputUnavailable, "unborn", "the job was never started: it has no output", "")
}
func (none) Do(backends.Control)                 {}
func (none) Stop(messages.Cause, time.Duration)  {}
func (none) NotifyGrowth(messages.Stream, int64) {}
func (none) SaveMeta([]byte)                     {}
func (none) Settle(uint64)                       {}
func (none) Release()                            {}

// cannot is a job that no keeper is asked for.
func cannot(facts backends.FactHandler, why *messages.Error) backends.Process {
	go facts(messages.ProcessFailed{Err: *why, Shell: cannotRun, At: time.Now()})
	return none{}
}

// cannotRun is a shell's status for a command that is there and cannot run.
const cannotRun = 126
