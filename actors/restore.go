package actors

import (
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// RestoreState is what a node restores: the jobs of its engine and the contents of its
// journal. The zero value restores nothing.
type RestoreState struct {
	Held     []backends.InventoryJob
	Live     []RestoredJob // not over according to the journal, in the order of their start
	Over     []RestoredJob // over, the last ended first
	Number   uint64        // the highest number of a short id
	Channels []SubscriberCursor
	Ends     []messages.SessionEnd // of sessions and their shells, the newest first
	Origins  []Origin              // the oldest first; nil: it is not known when the journal was opened
}

// Origin is an opening of a journal, and the number of its newest fact at that time.
type Origin struct {
	ID    string
	After messages.Seq
}

// RestoredJob is a job in the journal: the record of its last fact, its idempotency key, and its
// request while it is queued.
type RestoredJob struct {
	Job         messages.Record
	Key, Digest string
	Run         *messages.RunCommand // nil: not recorded, or not needed any more
	Env         []string
}

// Request is the request of a queued job, with its environment. A journal keeps it until a fact
// reports the job in another state.
type Request struct {
	Job messages.JobID
	UID messages.UID
	Run *messages.RunCommand
	Env []string
}

// Key is the idempotency key of a job. A journal keeps it as long as the record.
type Key struct {
	Job       messages.JobID
	Principal messages.Principal
	Key       string
	Digest    string // of the request
}

// SubscriberCursor is a channel in the journal, with what its subscriber has acknowledged.
type SubscriberCursor struct {
	ID     messages.ChannelID
	Filter messages.Filter
	Window int
	Acked  messages.Seq
}

// JournalEntry is recorded as a whole: facts, and what a restart needs beside them.
type JournalEntry struct {
	Facts    []messages.FactRecorded
	Keys     []Key // of jobs of these or earlier facts
	Channels []SubscriberCursor
	Acks     []messages.Acknowledge
	Left     []messages.ChannelID // channels that have ended
	Removed  []messages.JobID
	Outputs  []SmallOutput
	Ends     []messages.SessionEnd // the newest last
	Requests []Request             // of queued jobs of these facts
}

// SmallOutput is the whole output of a job on one stream, if it is small. The journal keeps it
// with the record. Stream OrderOf is the output order.
type SmallOutput struct {
	Job    messages.JobID
	UID    messages.UID
	Stream uint8
	Data   []byte
}

// OrderOf is the stream number of the output order.
const OrderOf uint8 = 3

// SmallLogs is implemented by Logs that another process holds and can lose.
type SmallLogs interface {
	// Small returns all outputs of a job that is over if each is small, else nil. It does not
	// wait.
	Small(job messages.Record) []SmallOutput
	// Recorded takes that the journal has the outputs of a job.
	Recorded(uid messages.UID)
}

// BatchLogs is implemented by Logs that another process holds. It reads the states of many
// logs by one request.
type BatchLogs interface {
	// States returns the known states of all logs of the jobs. It may wait.
	States(ids []string) map[spill.Name]spill.State
}

// DurableJournal is implemented by a Journal that outlives the tree.
type DurableJournal interface {
	// Write records all of an entry or nothing. Append is a Write of facts only.
	Write(e JournalEntry) error
}

// write writes an entry to a journal. A journal that is not durable takes only the facts.
func write(j Journal, e JournalEntry) error {
	if lasting, ok := j.(DurableJournal); ok {
		return lasting.Write(e)
	}
	if len(e.Facts) == 0 {
		return nil
	}
	return j.Append(e.Facts)
}

// lasts reports whether the journal outlives the tree.
func (d *Deps) lasts() bool {
	_, ok := d.Journal.(DurableJournal)
	return ok
}
