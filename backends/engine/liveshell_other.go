//go:build !linux

package engine

import (
	"sync/atomic"
	"syscall"

	"troupe/backends"
	"troupe/messages"
)

// There are no live shells but on Linux: none is ever made.
type (
	liveShell    struct{ cwd atomic.Pointer[string] }
	shellCommand struct{ cwd string }
)

func refuseLive(backends.Spec) *startError {
	return refused(messages.Unsupported, "live", "this machine runs no live shells; run each command for itself")
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

func (*shellCommand) climb(*escalation) {}

func (*shellCommand) signal(syscall.Signal) messages.ProcessFact { return messages.ControlDone{} }
