package keeper

import (
	"errors"

	"troupe/messages"
)

// signalReason is the reason of a report to the client that is no fault.
const signalReason = "signal"

// IsSignal reports whether a fault of ClientOptions.Fault is the report of a signal that
// the keeper got.
func IsSignal(fault error) bool {
	return errors.Is(fault, &messages.Error{Code: messages.Refused, Reason: signalReason})
}
