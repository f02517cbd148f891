//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"runtime"
	"time"

	"troupe/messages"
)

// inputWatch is not to be had: nothing tells what a process waits for.
type inputWatch struct{}

func (*inputWatch) soon(*job) {}

// awaitInput refuses.
func (h *platform) awaitInput(j *job, _ time.Duration, to *answer) {
	j.answer(to, messages.ControlRefused{Err: messages.Error{
		Code: messages.Unsupported, Reason: "input", Message: "it cannot be seen on " + runtime.GOOS + " when a job waits for input",
		Hint: "wait for a pattern that the job writes when it asks",
	}})
}
