package terminal

import (
	"testing"

	emulator "troupe/backends/screen"
)

// What the guard writes undoes all that a program with the whole screen has turned on, and
// fits the file of the guard.
func TestTheGuardUndoesAScreen(t *testing.T) {
	undo := undoScreen(24)
	if len(undo) > guardSize {
		t.Errorf("it has %d bytes", len(undo))
	}
	var modes emulator.ModeTracker
	modes.Write([]byte(screenModes + undo))
	if now := modes.Now(); now != (emulator.ModeState{}) {
		t.Errorf("%q leaves %q", undo, now.Undo(24))
	}
}
