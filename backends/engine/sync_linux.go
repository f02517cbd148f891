package engine

import (
	"strings"
	"time"

	"troupe/messages"
)

// An interrupt that was sent for one command may come when that is over: a bash writes a
// new line then, and reports once more. On a terminal that would be output of the next
// command. So behind whatever may have sent one the shell is asked first to say that it
// has come.

// syncLine asks for that: a nonce that no command has, and the letter.
var syncLine = strings.Repeat("0", 16) + "y"

// sync asks the shell. One that is ready answers within a tenth of a millisecond; it is
// ended when it does not in the time in which one that starts has to be ready. Called with
// mu.
func (sh *liveShell) sync() {
	sh.interruptPending, sh.syncing, sh.syncs = false, true, 0
	if t := sh.term; t != nil { // a key that nobody has looked at yet
		t.end.use(func(master int) { _ = t.end.sys.FlushInput(master) })
	}
	_ = sh.writeControl(syncLine)
	sh.timer.Store(time.AfterFunc(sh.readyTimeout, func() {
		sh.mu.Lock()
		late := sh.syncing && !sh.exited
		sh.mu.Unlock()
		if late {
			sh.job.stop(messages.Cause{By: messages.BySystem, Reason: "the shell did not go on behind an interrupt within " + sh.readyTimeout.String()}, 0)
		}
	}))
}

// synced takes what a shell reports that was asked: no command runs, and what it says of
// the last one it has said before. Called with mu.
func (sh *liveShell) synced(r report) func() {
	switch r.about {
	case reportSync:
		sh.syncing = false
		sh.stopTimer()
		return sh.sendCommand()
	case reportAgain:
		if sh.syncs++; sh.syncs <= mostRepeats {
			_ = sh.writeControl(syncLine)
		}
	}
	return nil
}

// noteInterrupt notes that an interrupt may be on its way to the shell. Called with mu.
func (sh *liveShell) noteInterrupt() { sh.interruptPending = sh.canSync }
