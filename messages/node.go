package messages

import "time"

// The node conversation: the root package ends the tree.
//
//	root --ShutdownNode--> supervisor --ShutdownDone--> root
//
// Order: intake stops (shutting_down), every job is ended or left to its
// engine, every reply that is owed is given, the facts are recorded and told,
// and only then do recorder and channels end.

// ShutdownNode asks for the ordered end of the tree.
type ShutdownNode struct {
	quiet
	KeepJobs bool          // leave them to the engine, which outlives this tree; refused with unsupported where it ends with the process
	Grace    time.Duration // 0: each job's own, negative: none
	Reason   string
}

// ShutdownDone reports that no actor below the supervisor is left. Survivors
// are processes that could not be ended.
type ShutdownDone struct {
	quiet
	Survivors []Survivor
}

// ShutdownReply is what the root may receive in answer to ShutdownNode.
type ShutdownReply interface{ shutdownReply() }

func (ShutdownDone) shutdownReply()    {}
func (RequestRejected) shutdownReply() {}

// Refuse implements Refusable.
func (ShutdownNode) Refuse(e *Error) any { return RequestRejected{Err: *e} }
