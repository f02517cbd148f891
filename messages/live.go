package messages

import "time"

// LiveState is what the processes of a job do and use at the time of a request. It is in replies
// only, and only if the request asks for it.
type LiveState struct {
	Awaiting  Awaiting        `json:"awaiting,omitzero" cbor:"1,keyasint,omitzero"` // "": unknown, or the job has no input
	CPU       time.Duration   `json:"cpu_ms" cbor:"2,keyasint,omitzero"`            // of the processes, and of the children that they have reaped
	Memory    int64           `json:"memory_bytes" cbor:"3,keyasint,omitzero"`      // resident; a page that processes share counts for each
	Processes int             `json:"processes" cbor:"4,keyasint,omitzero"`         // leftovers too; without the live shell of a command
	Ports     []ListeningPort `json:"ports,omitzero" cbor:"5,keyasint,omitzero"`    // nil: unknown
}

// Awaiting is what a job waits for on its standard input.
type Awaiting string

// The values.
const (
	AwaitsNothing Awaiting = "nothing"
	AwaitsInput   Awaiting = "input"
	AwaitsSecret  Awaiting = "secret" // on a terminal that does not echo, as for a password
)

// ListeningPort is a port on which a process of a job takes connections or datagrams.
type ListeningPort struct {
	Protocol Protocol `json:"protocol" cbor:"1,keyasint,omitzero"`
	Address  string   `json:"address" cbor:"2,keyasint,omitzero"` // an IP address; 0.0.0.0 or ::, all of them
	Port     int      `json:"port" cbor:"3,keyasint,omitzero"`
}

// Protocol is that of a port.
type Protocol string

// The protocols.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// MaxListening bounds LiveState.Ports.
const MaxListening = 64

// WithLive returns the record with the live state of the job, which is newer than the last report
// of whether it waits for input.
func (j Record) WithLive(now LiveState) Record {
	j.Live = &now
	if now.Awaiting != "" && !j.State.Ended() {
		j.WaitingForInput = now.Awaiting != AwaitsNothing
		j.WaitingForSecret = now.Awaiting == AwaitsSecret
	}
	return j
}
