package messages

import "time"

// The node conversation: the root package ends the tree.
//
//	root --ShutDown--> supervisor --ShutdownEnded--> root
//
// Order: intake stops (shutting_down), every job is ended or left to its
// engine, every reply that is owed is given, the facts are recorded and told,
// and only then do recorder and channels end.

// ShutDown asks for the ordered end of the tree.
type ShutDown struct {
	quiet
	KeepJobs bool          // leave them to the engine, which outlives this tree; refused with unsupported where it ends with the process
	Grace    time.Duration // 0: each job's own, negative: none
	Reason   string
}

// ShutdownEnded reports that no actor below the supervisor is left. Survivors
// are processes that could not be ended.
type ShutdownEnded struct {
	quiet
	Survivors []Survivor
}

// ShutdownReply is what the root may receive in answer to ShutDown.
type ShutdownReply interface{ shutdownReply() }

func (ShutdownEnded) shutdownReply()   {}
func (RequestRejected) shutdownReply() {}

// Refuse implements Refusable.
func (ShutDown) Refuse(e *Error) any { return RequestRejected{Err: *e} }
