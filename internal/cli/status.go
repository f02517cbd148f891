package cli

import "fmt"

// The exit statuses that are troupe's own (docs/cli.md).
const (
	StatusUsage = 2   // what was asked for makes no sense: nothing was started
	StatusOwn   = 125 // troupe could not do it; as env(1), timeout(1) and docker say it
	SignalBase  = 128 // plus the number of a signal
)

// ExitStatus ends the program with an exit status when all has been said.
type ExitStatus int

// Error implements error.
func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusMissing is the exit status of a verb whose job is not there, whose
// daemon is not, or that was refused.
const StatusMissing = 1

// StatusSurvivors is the exit status of a stop that could not end everything.
const StatusSurvivors = 4
