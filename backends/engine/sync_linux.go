package engine

import (
	"strings"
	"time"

	"troupe/messages"
)

// An interrupt sent for one command may arrive after its end. bash then writes a newline and
// reports once more; on a terminal that would be output of the next command. So after a
// possible interrupt the shell must first confirm that it has arrived.

// syncLine requests the confirmation: a nonce that no command has, and the letter.
var syncLine = strings.Repeat("0", 16) + "y"

// sync requests the confirmation. A ready shell answers within 0.1 ms; one that does
// not within readyTimeout is stopped. The caller holds mu.
func (sh *liveShell) sync() {
	sh.interruptPending, sh.syncing, sh.syncs = false, true, 0
	if t := sh.term; t != nil { // drop keys that were not read
		t.end.use(func(master int) { _ = t.end.sys.FlushInput(master) })
	}
	_ = sh.writeControl(syncLine)
	sh.timer.Store(time.AfterFunc(sh.readyTimeout, func() {
		sh.mu.Lock()
		late := sh.syncing && !sh.exited
		sh.mu.Unlock()
		if late {
			sh.job.stop(messages.Cause{By: messages.BySystem, Reason: "the shell did not continue after an interrupt within " + sh.readyTimeout.String()}, 0)
		}
	}))
}

// synced handles a report of a shell that was asked to confirm. No command runs, and
// the last one is already reported. The caller holds mu.
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

// noteInterrupt records that an interrupt may still reach the shell. The caller holds
// mu.
func (sh *liveShell) noteInterrupt() { sh.interruptPending = sh.canSync }
