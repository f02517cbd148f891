package inject

import (
	"context"

	"troupe/faults"
	"troupe/internal/journal"
	"troupe/messages"
)

// faultyJournal is the journal of a daemon whose writes meet faults.
type faultyJournal struct {
	*journal.Bolt
	in *Injector
}

// Journal returns a journal whose writes meet the faults of the plan.
func (i *Injector) Journal(of *journal.Bolt) *faultyJournal { return &faultyJournal{Bolt: of, in: i} }

// Append implements actors.Journal.
func (j *faultyJournal) Append(facts []messages.FactRecorded) error {
	return j.Write(journal.Batch{Facts: facts})
}

// Write writes a batch, or fails as its disk would.
func (j *faultyJournal) Write(batch journal.Batch) error {
	for _, recorded := range batch.Facts {
		fact, is := recorded.Fact.(messages.CommandFact)
		if !is {
			continue
		}
		job := fact.Record()
		for _, f := range j.in.at(faults.Journal, job.UID, identityOf(job)) {
			if f.Do == faults.Delay {
				pause(context.Background(), f.For)
				continue
			}
			return faults.Number(f.Errno)
		}
	}
	return j.Bolt.Write(batch)
}
