package messages

import "time"

// The node conversation: the root package ends the tree.
//
//	root --ShutdownNode--> supervisor --ShutdownDone | RequestRejected--> root
//
// Order: the supervisor refuses new requests (shutting_down) and stops every job or leaves
// it to the engine. It sends all pending replies, then records and sends the facts. The
// recorder and the channels end last.

// ShutdownNode asks for the ordered end of the tree.
type ShutdownNode struct {
	quiet
	KeepJobs bool          // leave the jobs to the engine; refused with unsupported if the engine ends with this process
	Grace    time.Duration // 0: each job's own, negative: none
	Reason   string
}

// ShutdownDone reports that every actor below the supervisor has ended. Survivors are
// processes that could not be stopped.
type ShutdownDone struct {
	quiet
	V         Version    `json:"v" cbor:"-"`
	Survivors []Survivor `json:"survivors"`
}

// Refuse implements Refusable.
func (ShutdownNode) Refuse(e *Error) any { return RequestRejected{Err: *e} }
