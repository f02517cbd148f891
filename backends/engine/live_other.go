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
	live    struct{ cwd atomic.Pointer[string] }
	section struct{ cwd string }
)

func refuseLive(backends.Spec) *failure {
	return refused(messages.Unsupported, "live", "this machine runs no live shells; run each command for itself")
}

func refuseIn(s backends.Spec) *failure { return refuseLive(s) }

func newLive(*job, *backends.LiveShell) *live { return nil }

func (j *job) furnish(s *backends.Spec) *failure { return refuseLive(*s) }

func (j *job) enter(s *backends.Spec) { j.failed(refuseLive(*s)) }

func (*live) begin()          {}
func (*live) begun()          {}
func (*live) died(ending)     {}
func (*live) unborn(*failure) {}
func (*live) remove()         {}
func (*live) dismiss()        {}
func (*section) leave()       {}

func (*section) climb(*ladder) {}

func (*section) signal(syscall.Signal) messages.ProcessFact { return messages.ControlDone{} }
