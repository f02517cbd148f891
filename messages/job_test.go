package messages_test

import (
	"testing"

	"troupe/messages"
)

// A command that could not be started has the status of a shell, but where that
// was no fault of the command's: then it is that of troupe's own errors.
func TestExitCodeOfWhatDidNotStart(t *testing.T) {
	for code, want := range map[messages.Code]int{messages.SpawnFailed: 126, messages.KeeperUnresponsive: 125, messages.Internal: 125} {
		job := messages.Job{Outcome: messages.FailedToStart, Shell: 126, Err: messages.Error{Code: code}}
		if got := job.ExitCode(); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
