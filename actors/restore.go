package actors

import (
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// RestoreState is what a tree finds that begins again: the jobs of its engine, and what
// its journal knows beside the facts. The zero value is a beginning.
type RestoreState struct {
	Held     []backends.InventoryJob
	Live     []RestoredJob // not over, as far as the journal knows, in the order in which they began
	Over     []RestoredJob // the one that ended last first
	Number   uint64        // the highest that a short id had
	Channels []SubscriberCursor
	Ends     []messages.SessionEnd // of sessions and their shells, the last one first
}

// RestoredJob is what a journal has of one job: its record as the last fact about
// it has it, and its idempotency key, if it has one.
type RestoredJob struct {
	Job         messages.Job
	Key, Digest string
}

// Key is the idempotency key of a job, which a journal keeps as long as its record.
type Key struct {
	Job       messages.JobID
	Principal messages.Principal
	Key       string
	Digest    string // of the request
}

// SubscriberCursor is what a journal keeps of one channel: how far its subscriber came.
type SubscriberCursor struct {
	ID     messages.ChannelID
	Filter messages.Filter
	Window int
	Acked  messages.Seq
}

// JournalEntry is what is recorded at one go: facts, and what a tree that begins again
// must know beside them.
type JournalEntry struct {
	Facts    []messages.FactRecorded
	Keys     []Key // of jobs that the facts, or those before, tell of
	Channels []SubscriberCursor
	Acks     []messages.Acknowledge
	Left     []messages.ChannelID
	Removed  []messages.JobID // jobs that are over and forgotten
	Outputs  []SmallOutput
	Ends     []messages.SessionEnd // the last one last
}

// SmallOutput is all that a job wrote on one stream, if that is little: it is kept
// with its record. The stream OrderOf is the order of two, and the times of any.
type SmallOutput struct {
	Job    messages.JobID
	UID    messages.UID
	Stream uint8
	Data   []byte
}

// OrderOf is the order index among the outputs.
const OrderOf uint8 = 3

// SmallLogs is what Logs may be that are lost with another process, while the
// journal is not.
type SmallLogs interface {
	// Small gives all outputs of a job that is over, if each is small, without waiting
	// for anything; else none.
	Small(job messages.Job) []SmallOutput
	// Recorded says that the journal has them.
	Recorded(uid messages.UID)
}

// BatchLogs is what Logs may be of which each is a question to another process: one
// question is enough for the states of many.
type BatchLogs interface {
	// States gives the states of all logs of the jobs, as far as they can be told
	// now; what is not there, or cannot be asked for, has none. It may wait.
	States(ids []string) map[spill.Name]spill.State
}

// DurableJournal is what a Journal may be that outlives the tree.
type DurableJournal interface {
	// Write records all of an entry or nothing; Append is a Write of facts alone.
	Write(e JournalEntry) error
}

// write gives a journal an entry. One that does not last takes the facts alone.
func write(j Journal, e JournalEntry) error {
	if lasting, ok := j.(DurableJournal); ok {
		return lasting.Write(e)
	}
	if len(e.Facts) == 0 {
		return nil
	}
	return j.Append(e.Facts)
}

// lasts says whether the journal outlives the tree.
func (d *Deps) lasts() bool {
	_, ok := d.Journal.(DurableJournal)
	return ok
}
