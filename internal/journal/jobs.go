package journal

import (
	"time"

	"troupe/messages"
)

// The rest of the API is a projection of the facts, written together with them, for a
// restart of the node. Memory and Bolt implement all of it.

// Writer records more than facts.
type Writer interface {
	// Write records a batch completely or not at all; Append writes facts alone. What
	// is recorded already stays unchanged, so a failed batch can be written again. A
	// batch that leaves a gap is ErrHole.
	Write(b Batch) error
}

// Batch is recorded as a unit, in the order of its fields.
type Batch struct {
	Facts    []messages.FactRecorded
	Keys     []Key                  // of known jobs; others are ignored
	Channels []Channel              // created or replaced
	Acks     []messages.Acknowledge // a number never falls; unknown channels are ignored
	Left     []messages.ChannelID   // channels to remove
	Removed  []messages.JobID       // to be removed early; jobs that are not over stay
	Outputs  []Output               // of known jobs; others are ignored
	Ends     []messages.SessionEnd  // the newest last
	Requests []Request              // of known jobs that are queued; others are ignored

	opened bool // the journal was opened: a new Origin
}

// Output is a small output in the record of its job: the content of one stream, or, as
// the stream OrderOf, the output order and times.
type Output struct {
	Job    messages.JobID
	UID    messages.UID
	Stream uint8
	Data   []byte
}

// OrderOf is the stream number of the output order (spill.Order).
const OrderOf uint8 = 3

// Outputs returns small outputs. A Memory does not store them, since the logs are in
// the same process.
type Outputs interface {
	// Outputs returns the small outputs of one job; none if none were recorded, or the
	// job was removed.
	Outputs(uid messages.UID) ([]Output, error)
}

// Key is the idempotency key of a job. It is stored as long as the job's record.
type Key struct {
	Job       messages.JobID     `cbor:"1,keyasint,omitzero"`
	Principal messages.Principal `cbor:"2,keyasint,omitzero"`
	Key       string             `cbor:"3,keyasint,omitzero"`
	Digest    string             `cbor:"4,keyasint,omitzero"` // of the request: detects another request under the same key
}

// Request is the whole request of a queued job. It is stored until a fact reports the job in
// another state.
type Request struct {
	Job messages.JobID       `cbor:"1,keyasint,omitzero"`
	UID messages.UID         `cbor:"2,keyasint,omitzero"`
	Run *messages.RunCommand `cbor:"3,keyasint,omitzero"` // never changed; stored without BaseEnv, which Env includes
	Env []string             `cbor:"4,keyasint,omitzero"` // the whole environment of the job
}

// Entry is the stored state of one job.
type Entry struct {
	Job messages.Record `cbor:"1,keyasint,omitzero"` // from its latest fact, with the number of that fact
	Key Key             `cbor:"2,keyasint,omitzero"` // zero: none
	// Request is set while the job is queued, if its request was recorded; else its fields are
	// zero.
	Request Request `cbor:"3,keyasint,omitzero"`
	// Over is the number of its CommandRetired; 0 before that.
	Over messages.Seq `cbor:"4,keyasint,omitzero"`
}

// Jobs returns the jobs of the facts. A job is over once CommandRetired is recorded;
// afterwards only facts about its notices change its record. Retention bounds the jobs
// that are over. Others are never removed.
type Jobs interface {
	// LastJobNumber returns the highest number of a short id ("j7": 7), including
	// removed jobs; 0 if there was none. It does not know jobs without a recorded fact:
	// see the engine's inventory.
	LastJobNumber() (uint64, error)

	// Live returns the jobs that are not over, by their first facts. The node looks for
	// them in the engine.
	Live() ([]Entry, error)

	// Finished returns up to limit jobs that are over, the newest first. They were over
	// before the number before; 0 means no bound. Entry.Over continues the listing.
	Finished(before messages.Seq, limit int) ([]Entry, error)
}

// Channel is the position of one subscriber. Facts above Acked are sent again under the
// same numbers. This gives effectively-once delivery across restarts of the node.
type Channel struct {
	ID     messages.ChannelID `cbor:"1,keyasint,omitzero"`
	Filter messages.Filter    `cbor:"2,keyasint,omitzero"`
	Window int                `cbor:"3,keyasint,omitzero"`
	Acked  messages.Seq       `cbor:"4,keyasint,omitzero"` // all facts up to here are acknowledged
}

// Outbox returns the channels until they are left. A channel keeps its unacknowledged
// facts within the bounds of Retention. A subscriber that is too late sees a gap before
// the first number.
type Outbox interface {
	Channels() ([]Channel, error)
}

// Retention bounds what a journal keeps. The zero value means the defaults.
type Retention struct {
	Jobs     int           // jobs that are over; 0: DefaultJobs
	Age      time.Duration // of a job since its end, of a channel since its last write; 0: DefaultAge
	Facts    int           // facts, even if still needed; 0: DefaultFacts
	Bytes    int64         // of all records; 0: DefaultBytes
	Channels int           // channels; 0: DefaultChannels
}

// Defaults of Retention.
const (
	DefaultJobs     = 10_000
	DefaultAge      = 7 * 24 * time.Hour
	DefaultFacts    = 100_000   // those of twenty thousand jobs; a job that runs for weeks keeps no more
	DefaultBytes    = 256 << 20 // one command may have 16 MiB; ten thousand of them may not
	DefaultChannels = 1024      // four times the channels that a node serves at a time
	tailFacts       = 1024      // newest facts that are always kept: four outboxes of a channel
)

func (r Retention) withDefaults() Retention {
	if r.Jobs <= 0 {
		r.Jobs = DefaultJobs
	}
	if r.Age <= 0 {
		r.Age = DefaultAge
	}
	if r.Facts <= 0 {
		r.Facts = DefaultFacts
	}
	if r.Bytes <= 0 {
		r.Bytes = DefaultBytes
	}
	if r.Channels <= 0 {
		r.Channels = DefaultChannels
	}
	return r
}

// idNumber returns the number at the end of a short id, 0 if it has none.
func idNumber(id messages.JobID) uint64 {
	var n, unit uint64 = 0, 1
	for i := len(id) - 1; i >= 0 && id[i] >= '0' && id[i] <= '9' && unit < 1e18; i-- {
		n += uint64(id[i]-'0') * unit
		unit *= 10
	}
	return n
}
