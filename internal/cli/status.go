package cli

import "fmt"

// Exit statuses of troupe's own (docs/cli.md).
const (
	StatusUsage = 2   // usage error: nothing was started
	StatusOwn   = 125 // troupe failed; env(1), timeout(1) and docker use the same status
	SignalBase  = 128 // plus the number of a signal
)

// ExitStatus is an error that ends the program with this status and no further message.
type ExitStatus int

// Error implements error.
func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusMissing is the exit status of a verb that was refused, or whose job or daemon
// does not exist.
const StatusMissing = 1

// StatusSurvivors is the exit status of a stop that some processes survived.
const StatusSurvivors = 4
