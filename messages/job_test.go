package messages_test

import (
	"testing"

	"troupe/messages"
)

// A command that could not be started has the status of a shell, but where that
// was no fault of the command's: then it is that of troupe's own errors.
func TestExitCodeOfWhatDidNotStart(t *testing.T) {
	for code, want := range map[messages.Code]int{
		messages.SpawnFailed: 126, messages.KeeperUnresponsive: 125, messages.Internal: 125,
		messages.ResourceExhausted: 125, messages.CwdNotFound: 125, messages.CwdNotDir: 125, messages.Refused: 125,
	} {
		job := messages.Record{End: messages.End{Outcome: messages.FailedToStart, Err: messages.Error{Code: code}}}
		if got := job.ExitCode(); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

// A stream that there is not has a name all the same: requests are refused with it.
func TestNameOfNoStream(t *testing.T) {
	for stream, want := range map[messages.Stream]string{messages.Merged: "merged", messages.Stderr: "stderr", messages.Both: "both", 4: "4", 255: "255"} {
		if got := stream.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
