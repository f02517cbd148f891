package connect

import (
	"maps"

	"troupe/actors"
	"troupe/backends/keeper"
	"troupe/internal/journal"
	"troupe/messages"
	"troupe/spill"
)

// OutputLogs opens the outputs of jobs: small ones of finished jobs from the journal,
// the others from the keeper.
type OutputLogs struct {
	Keeper  *keeper.Fleet
	Journal journal.Outputs // nil: facts are not recorded
}

// Open implements actors.Logs.
func (k OutputLogs) Open(id string, stream uint8) (spill.Log, error) {
	small := k.small(id)
	for _, o := range small {
		if o.Stream == stream {
			return spill.MemoryLog(o.Data), nil
		}
	}
	if len(small) > 0 { // the job is recorded, and this stream had no output
		return spill.MemoryLog(nil), nil
	}
	return k.Keeper.Open(messages.UID(id), messages.Stream(stream))
}

// small returns the outputs of a job in the journal. A closed or damaged journal has
// none. The keeper has those of live jobs, and perhaps these.
func (k OutputLogs) small(id string) []journal.Output {
	if k.Journal == nil {
		return nil
	}
	all, err := k.Journal.Outputs(messages.UID(id))
	if err != nil {
		return nil
	}
	return all
}

// Order returns the output order of a job's streams.
func (k OutputLogs) Order(id string) (*spill.Order, error) {
	small := k.small(id)
	for _, o := range small {
		if o.Stream == journal.OrderOf {
			return spill.ParseOrder(o.Data, true), nil
		}
	}
	if len(small) > 0 {
		return nil, spill.ErrNotFound
	}
	return k.Keeper.Order(messages.UID(id))
}

// Remove implements actors.Logs. Outputs in the journal are removed with the record.
func (k OutputLogs) Remove(id string) error {
	k.Keeper.Remove(messages.UID(id))
	return nil
}

// States implements actors.ManyLogs.
func (k OutputLogs) States(ids []string) map[spill.Name]spill.State {
	all := map[spill.Name]spill.State{}
	var ask []messages.UID
	for _, id := range ids {
		small := k.small(id)
		for _, o := range small {
			if o.Stream != journal.OrderOf {
				all[spill.Name{ID: id, Stream: o.Stream}] = spill.MemoryLog(o.Data).State()
			}
		}
		if len(small) == 0 {
			ask = append(ask, messages.UID(id))
		}
	}
	maps.Copy(all, k.Keeper.States(ask))
	return all
}

// Small implements actors.SmallLogs.
func (k OutputLogs) Small(job messages.Record) (all []actors.SmallOutput) {
	if k.Journal == nil {
		return nil
	}
	outputs, order, ok := k.Keeper.SmallOutputs(job.UID)
	if !ok {
		return nil
	}
	for _, s := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
		if data, has := outputs[s]; has {
			all = append(all, actors.SmallOutput{Job: job.ID, UID: job.UID, Stream: uint8(s), Data: data})
		}
	}
	if order != nil {
		all = append(all, actors.SmallOutput{Job: job.ID, UID: job.UID, Stream: actors.OrderOf, Data: order})
	}
	return all
}

// Recorded implements actors.SmallLogs.
func (k OutputLogs) Recorded(uid messages.UID) { k.Keeper.ReleaseSmall(uid) }
