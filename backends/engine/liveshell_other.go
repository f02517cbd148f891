//go:build !linux

package engine

import (
	"sync/atomic"
	"syscall"

	"troupe/backends"
	"troupe/messages"
)

// Only Linux has live shells; these types are never used.
type (
	liveShell    struct{ cwd atomic.Pointer[string] }
	shellCommand struct{ cwd string }
)

func refuseLive(backends.Spec) *startError {
	return refused(messages.Unsupported, "live", "live shells need Linux; run each command in its own shell")
}

func refuseIn(s backends.Spec) *startError { return refuseLive(s) }

func newLiveShell(*job, *backends.LiveShell) *liveShell { return nil }

func (j *job) makeShellDir(s *backends.Spec) *startError { return refuseLive(*s) }

func (j *job) enter(s *backends.Spec) { j.failed(refuseLive(*s)) }

func (*liveShell) begin()                  {}
func (*liveShell) setStarted()             {}
func (*liveShell) shellExited(mainExit)    {}
func (*liveShell) startFailed(*startError) {}
func (*liveShell) remove()                 {}
func (*liveShell) shutdown()               {}
func (*shellCommand) leave()               {}

func (*shellCommand) escalate(*escalation) {}

func (*shellCommand) signal(syscall.Signal) messages.ProcessFact { return messages.ControlDone{} }
