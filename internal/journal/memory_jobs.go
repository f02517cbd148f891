package journal

import (
	"cmp"
	"maps"
	"slices"

	"troupe/messages"
)

// MemoryJobs bounds the finished jobs of a Memory, as many as its node keeps.
const MemoryJobs = 1000

// memoryTable holds everything except the facts.
type memoryTable struct {
	number   uint64
	jobs     map[messages.JobID]*memoryJob
	byKey    map[keyName]messages.JobID
	over     []*memoryJob // in the order of their CommandRetired
	channels map[messages.ChannelID]*memoryChannel
	clock    uint64 // counts writes about channels
	ends     []messages.SessionEnd
}

type memoryJob struct {
	id          messages.JobID
	uid         messages.UID
	state       messages.State
	record      []byte       // its latest fact, encoded
	seq         messages.Seq // number of that
	first, over messages.Seq // numbers of its first fact and its CommandRetired; over is 0 before that
	key         *Key         // nil: none
	request     *Request     // nil: it is not queued, or none was recorded
}

type memoryChannel struct {
	Channel
	seen uint64
}

type keyName struct {
	principal messages.Principal
	key       string
}

func newMemoryTable() memoryTable {
	return memoryTable{
		jobs: map[messages.JobID]*memoryJob{}, byKey: map[keyName]messages.JobID{},
		channels: map[messages.ChannelID]*memoryChannel{},
	}
}

func (j *memoryJob) entry() Entry {
	e := Entry{Job: j.last().Record(), Over: j.over}
	e.Job.Seq = j.seq
	if j.key != nil {
		e.Key = *j.key
	}
	if j.request != nil {
		e.Request = *j.request
	}
	return e
}

// last returns its latest fact. What this process has encoded it can decode.
func (j *memoryJob) last() messages.CommandFact {
	fact, _ := decodeFact(j.record)
	return fact.(messages.CommandFact)
}

// keyName returns the name of its key; zero if it has none.
func (j *memoryJob) keyName() keyName {
	if j.key == nil {
		return keyName{}
	}
	return keyName{j.key.Principal, j.key.Key}
}

// learn records a fact about a job, and its encoded form. After the job is over, only the
// state of its notices changes.
func (k *memoryTable) learn(seq messages.Seq, fact messages.CommandFact, form []byte) {
	job := fact.Record()
	if job.ID == "" {
		return
	}
	j := k.jobs[job.ID]
	if j != nil && j.uid != job.UID {
		k.forget(job.ID)
		j = nil
	}
	switch {
	case j == nil:
		j = &memoryJob{id: job.ID, uid: job.UID, first: seq}
		k.jobs[job.ID] = j
		k.number = max(k.number, idNumber(job.ID))
	case j.over > 0:
		if afterEnd(fact) {
			last := j.last()
			now := last.Record()
			now.OnFinish, now.Faults = job.OnFinish, job.Faults
			j.record, _ = encodeFact(last.With(now).(messages.Fact))
			j.seq = seq
		}
		return
	}
	j.record, j.seq, j.state = form, seq, job.State
	if j.state != messages.Queued {
		j.request = nil
	}
	if _, retired := fact.(messages.CommandRetired); retired {
		j.over = seq
		k.over = append(k.over, j)
		if len(k.over) > MemoryJobs {
			k.forget(k.over[0].id)
		}
	}
}

func (k *memoryTable) forget(id messages.JobID) {
	j := k.jobs[id]
	if j == nil {
		return
	}
	delete(k.jobs, id)
	delete(k.byKey, j.keyName())
	if i := slices.Index(k.over, j); i >= 0 {
		k.over = slices.Delete(k.over, i, i+1)
	}
}

// take records the parts of a batch after its facts.
func (k *memoryTable) take(b Batch, last messages.Seq) {
	for _, key := range b.Keys {
		name := keyName{key.Principal, key.Key}
		j := k.jobs[key.Job]
		if j == nil || key.Key == "" {
			continue
		}
		if other := k.jobs[k.byKey[name]]; other != nil {
			other.key = nil
		}
		delete(k.byKey, j.keyName())
		j.key, k.byKey[name] = &key, key.Job
	}
	for _, q := range b.Requests {
		if j := k.jobs[q.Job]; j != nil && j.uid == q.UID && j.state == messages.Queued && q.Run != nil {
			j.request = &q
		}
	}
	for _, c := range b.Channels {
		k.channels[c.ID] = &memoryChannel{Channel: c, seen: k.tick()}
		k.channels[c.ID].Acked = min(c.Acked, last)
	}
	for len(k.channels) > DefaultChannels {
		delete(k.channels, k.idlest())
	}
	for _, a := range b.Acks {
		if c := k.channels[a.Channel]; c != nil {
			c.Acked, c.seen = max(c.Acked, min(a.Seq, last)), k.tick()
		}
	}
	for _, id := range b.Left {
		delete(k.channels, id)
	}
	k.ends = lastEnds(k.ends, b.Ends)
	for _, id := range b.Removed {
		if j := k.jobs[id]; j != nil && j.over > 0 {
			k.forget(id)
		}
	}
}

func (k *memoryTable) tick() uint64 {
	k.clock++
	return k.clock
}

func (k *memoryTable) idlest() messages.ChannelID {
	return slices.MinFunc(slices.Collect(maps.Values(k.channels)), func(a, b *memoryChannel) int {
		return cmp.Compare(a.seen, b.seen)
	}).ID
}

// LastJobNumber implements Jobs.
func (m *Memory) LastJobNumber() (uint64, error) {
	return look(m, func(k *memoryTable) uint64 { return k.number })
}

// Live implements Jobs.
func (m *Memory) Live() ([]Entry, error) {
	return look(m, func(k *memoryTable) []Entry {
		live := slices.DeleteFunc(slices.Collect(maps.Values(k.jobs)), func(j *memoryJob) bool { return j.over > 0 })
		slices.SortFunc(live, func(a, b *memoryJob) int { return cmp.Compare(a.first, b.first) })
		return entries(live)
	})
}

// Finished implements Jobs.
func (m *Memory) Finished(before messages.Seq, limit int) ([]Entry, error) {
	return look(m, func(k *memoryTable) []Entry {
		var page []*memoryJob
		for _, j := range slices.Backward(k.over) {
			if (before == 0 || j.over < before) && len(page) < limit {
				page = append(page, j)
			}
		}
		return entries(page)
	})
}

// Channels implements Outbox.
func (m *Memory) Channels() ([]Channel, error) {
	return look(m, func(k *memoryTable) []Channel {
		var all []Channel
		for _, c := range k.channels {
			all = append(all, c.Channel)
		}
		slices.SortFunc(all, func(a, b Channel) int { return cmp.Compare(a.ID, b.ID) })
		return all
	})
}

func entries(jobs []*memoryJob) []Entry {
	var all []Entry
	for _, j := range jobs {
		all = append(all, j.entry())
	}
	return all
}

// look reads the table, unless the journal is closed.
func look[T any](m *Memory, ask func(*memoryTable) T) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		var none T
		return none, ErrClosed
	}
	return ask(&m.known), nil
}
