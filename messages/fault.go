package messages

// The fault conversation: a daemon with a plan of faults tells each fault to its job.
//
//	host --ReportFault--> supervisor
//	host <--Acknowledged | JobMissing--

// ReportFault adds a fault to the record of a job, where a plan (package faults) let it happen.
type ReportFault struct {
	quiet
	Job   JobID
	Fault string // the name of the rule and the fault's number, as in "flaky start #2"
}

// Refuse implements Refusable.
func (ReportFault) Refuse(e *Error) any { return RequestRejected{Err: *e} }

// MaxFaults bounds Record.Faults. The list in the state directory has all.
const MaxFaults = 32
