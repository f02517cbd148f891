//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"runtime"
	"time"

	"troupe/messages"
)

// inputWatch is empty: no system call shows what a process waits for.
type inputWatch struct{}

func (*inputWatch) soon(*job) {}

// awaitInput refuses the request.
func (h *platform) awaitInput(j *job, _ time.Duration, to *answer) {
	j.answer(to, messages.ControlRefused{Err: messages.Error{
		Code: messages.Unsupported, Reason: "input", Message: "cannot detect whether a job waits for input on " + runtime.GOOS,
		Hint: "wait for a pattern that the job writes when it asks",
	}})
}
