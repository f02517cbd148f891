package journal

import (
	"time"

	"troupe/messages"
)

// What a node that begins again must know, beside the facts: a projection of
// them that is written together with them. Memory and Bolt have all of it.

// Writer records more than facts.
type Writer interface {
	// Write records a batch: all of it or nothing, and Append is a Write of facts
	// alone. What was recorded already is left as it is, so that a batch that
	// failed can be given again. A batch that leaves a hole is ErrHole.
	Write(b Batch) error
}

// Batch is what is recorded together. It is done in the order of its fields.
type Batch struct {
	Facts    []messages.FactRecorded
	Keys     []Key                  // of jobs that are held; others are let go
	Channels []Channel              // made, or made anew as they stand here
	Acks     []messages.Acknowledge // a number never falls; unknown channels are let go
	Left     []messages.ChannelID   // channels that are over
	Removed  []messages.JobID       // forgotten before their time; jobs that are not over stay
	Outputs  []Output               // of jobs that are held; others are let go
	Ends     []messages.SessionEnd  // the last one last
}

// Output is a small output of a job, kept with its record: all of one stream, or,
// as the stream OrderOf, the order of two and the times of any.
type Output struct {
	Job    messages.JobID
	UID    messages.UID
	Stream uint8
	Data   []byte
}

// OrderOf is the order index (spill.Order) among the outputs.
const OrderOf uint8 = 3

// Outputs tells of the small outputs. A journal in memory, which is gone with what
// writes the logs, lets them go.
type Outputs interface {
	// Outputs are those of one job: none if none were recorded, or it is forgotten.
	Outputs(uid messages.UID) ([]Output, error)
}

// Key is the idempotency key of a job. It is held as long as the job's record.
type Key struct {
	Job       messages.JobID
	Principal messages.Principal
	Key       string
	Digest    string // of the request, to tell another one under the same key
}

// Entry is what is held of one job.
type Entry struct {
	Job messages.Job // as the last fact about it has it, with the number of that fact
	Key Key          // the zero value: it has none
	// Over is the number of its last word; 0 while it is not over.
	Over messages.Seq
}

// Jobs tells of the jobs that the facts told of. A job is over when its last
// word, CommandRetired, is recorded; of what is told behind that, only the notices
// of its end change its record. Those that are over are kept within the
// bounds of Retention; of one that is not, the record is never let go.
type Jobs interface {
	// LastJobNumber is the highest number that a short id had ("j7": 7), also of jobs
	// that were forgotten; 0 if there was none. Ids of jobs whose first fact was
	// never recorded are not in it: ask the engine's inventory too.
	LastJobNumber() (uint64, error)

	// Job, ByUID, ByName and ByKey find one job, or ErrNoJob. Of several with a
	// name the one that began last is given.
	Job(id messages.JobID) (Entry, error)
	ByUID(uid messages.UID) (Entry, error)
	ByName(name string) (Entry, error)
	ByKey(principal messages.Principal, key string) (Entry, error)

	// Live are the jobs that are not over, in the order in which they began: those
	// the engine must be asked about.
	Live() ([]Entry, error)

	// Finished gives at most limit jobs that are over, the one that ended last first:
	// those whose last word has a number below before, or the newest if that is 0.
	// The number of a job's last word is in its entry.
	Finished(before messages.Seq, limit int) ([]Entry, error)
}

// Channel is how far one subscriber came. With the facts above Acked, which are
// sent again under the same numbers, it makes delivery effectively once across
// the end of a node, whatever way it ended.
type Channel struct {
	ID     messages.ChannelID
	Filter messages.Filter
	Window int
	Acked  messages.Seq // it has dealt with all up to here
}

// Outbox tells of the channels, for as long as they are not left. A channel holds
// the facts that it has not acknowledged within the bounds of Retention; who
// comes back behind them is told by the first number that it reads.
type Outbox interface {
	Channels() ([]Channel, error)
}

// Retention bounds what a journal keeps. The zero value means the defaults.
type Retention struct {
	Jobs     int           // that are over; 0: DefaultJobs
	Age      time.Duration // since their end, and since a channel was heard of; 0: DefaultAge
	Facts    int           // held at most, whoever still wants them; 0: DefaultFacts
	Bytes    int64         // of all records; 0: DefaultBytes
	Channels int           // remembered; 0: DefaultChannels
}

// The defaults of Retention.
const (
	DefaultJobs     = 10_000
	DefaultAge      = 7 * 24 * time.Hour
	DefaultFacts    = 100_000   // those of twenty thousand jobs: a job that runs for weeks holds no more of others
	DefaultBytes    = 256 << 20 // commands of 16 MiB are allowed, ten thousand of them are not
	DefaultChannels = 1024      // four times what a node serves at a time
	tailFacts       = 1024      // the newest are held in any case: four outboxes of a channel
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

// idNumber is the number in a short id, 0 if it has none.
func idNumber(id messages.JobID) uint64 {
	var n, unit uint64 = 0, 1
	for i := len(id) - 1; i >= 0 && id[i] >= '0' && id[i] <= '9' && unit < 1e18; i-- {
		n += uint64(id[i]-'0') * unit
		unit *= 10
	}
	return n
}
