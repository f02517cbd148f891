package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// keepRecord keeps the record of a job that is over, until trim forgets it.
func (s *supervisor) keepRecord(e *jobEntry) {
	s.archived = append(s.archived, e.job.ID)
	s.logBytes += logBytes(*e.job)
}

func logBytes(job messages.Job) (n int64) {
	for _, o := range job.Output {
		n += o.Bytes
	}
	return n
}

// trim forgets the oldest of the jobs that are over, as far as they are too many,
// too old, or have written too much. One whose end is still to be told stays until
// that is told or given up, unless it is for its output that it has to go.
func (s *supervisor) trim(ctx actor.Context) {
	for s.trimOne(ctx) {
	}
	s.removeSoon(ctx)
	if s.limit.Age > 0 && len(s.archived) > 0 && s.trimTimer == nil {
		s.trimTimer = sendLater(ctx, max(s.jobs[s.archived[0]].job.Ended.Add(s.limit.Age).Sub(clock()), time.Second), trimTick{})
	}
}

// trimOne lets one job go, and says whether there was one to go.
func (s *supervisor) trimOne(ctx actor.Context) bool {
	much := s.limit.LogBytes > 0 && s.logBytes > s.limit.LogBytes
	if len(s.awaitingNotice) > s.limit.Finished || much && len(s.awaitingNotice) > 0 {
		s.forget(ctx, s.jobs[s.awaitingNotice[0]])
		return true
	}
	if len(s.archived) == 0 {
		return false
	}
	oldest := s.jobs[s.archived[0]]
	old := s.limit.Age > 0 && clock().Sub(oldest.job.Ended) >= s.limit.Age
	switch {
	case !old && !much && len(s.archived) <= s.limit.Finished:
		return false
	case !much && oldest.noticesPending():
		s.archived, s.awaitingNotice = s.archived[1:], append(s.awaitingNotice, oldest.job.ID)
	default:
		s.forget(ctx, oldest)
	}
	return true
}

// noticesPending says whether somebody is still to be told of the end of a job.
func (e *jobEntry) noticesPending() bool {
	return slices.ContainsFunc(e.job.OnFinish, func(n messages.Notice) bool { return n.State == messages.NoticePending })
}

// noticesDone lets a job go that was kept only for what was to be told.
func (s *supervisor) noticesDone(ctx actor.Context, e *jobEntry) {
	if !e.noticesPending() && slices.Contains(s.awaitingNotice, e.job.ID) {
		s.forget(ctx, e)
		s.removeSoon(ctx)
	}
}

// trimTick says that the oldest of the jobs that are over may be too old by now.
type trimTick struct{ noDeadLetter }

// ackDelay is how long the journal may not know what a subscriber has acknowledged:
// it is told with the next fact, or alone after this. What it does not know when
// the node dies is told again.
const ackDelay = time.Second

// acksTick says that acknowledgements have waited for a fact for long enough.
type acksTick struct{ noDeadLetter }

// queueEntry has the journal keep more than facts, if it lasts.
func (s *supervisor) queueEntry(e JournalEntry) {
	if s.deps.lasts() {
		s.pendingEntry.add(e)
	}
}

// queueAck has the journal keep how far a subscriber came.
func (s *supervisor) queueAck(ctx actor.Context, m messages.Acknowledge) {
	if !s.deps.lasts() || s.phase == down {
		return
	}
	s.pendingAcks.add(JournalEntry{Acks: []messages.Acknowledge{m}})
	if s.ackTimer == nil {
		s.ackTimer = sendLater(ctx, ackDelay, acksTick{})
	}
}

// flushEntry gives the recorder what is to be kept beside the facts, if there is one.
func (s *supervisor) flushEntry(ctx actor.Context) {
	if s.unwritable() {
		s.pendingEntry, s.pendingAcks = JournalEntry{}, JournalEntry{}
	}
	if s.recorder == nil || s.pendingEntry.empty() {
		return
	}
	s.withAcks()
	ctx.Send(s.recorder, recordAside{entry: s.pendingEntry})
	s.pendingEntry = JournalEntry{}
}

// withAcks takes the acknowledgements along.
func (s *supervisor) withAcks() {
	s.pendingEntry.add(s.pendingAcks)
	s.pendingAcks = JournalEntry{}
	if s.ackTimer != nil {
		s.ackTimer()
		s.ackTimer = nil
	}
}

// add puts more behind what an entry has. Of one channel the last word counts: the
// journal takes the parts of an entry one behind the other.
func (e *JournalEntry) add(more JournalEntry) {
	e.Facts = append(e.Facts, more.Facts...)
	e.Keys = append(e.Keys, more.Keys...)
	for _, c := range more.Channels {
		e.overlook(c.ID)
		e.Channels = append(e.Channels, c)
	}
	for _, a := range more.Acks {
		e.Acks = slices.DeleteFunc(e.Acks, func(b messages.Acknowledge) bool { return b.Channel == a.Channel })
		e.Acks = append(e.Acks, a)
	}
	for _, id := range more.Left {
		e.overlook(id)
		e.Left = append(e.Left, id)
	}
	e.Removed = append(e.Removed, more.Removed...)
	e.Outputs = append(e.Outputs, more.Outputs...)
	e.Ends = append(e.Ends, more.Ends...)
}

// overlook drops what an entry has of a channel.
func (e *JournalEntry) overlook(id messages.ChannelID) {
	e.Channels = slices.DeleteFunc(e.Channels, func(c SubscriberCursor) bool { return c.ID == id })
	e.Acks = slices.DeleteFunc(e.Acks, func(a messages.Acknowledge) bool { return a.Channel == id })
	e.Left = slices.DeleteFunc(e.Left, func(left messages.ChannelID) bool { return left == id })
}

func (e *JournalEntry) empty() bool {
	return len(e.Facts)+len(e.Keys)+len(e.Channels)+len(e.Acks)+len(e.Left)+len(e.Removed)+len(e.Outputs)+len(e.Ends) == 0
}

// keyOf is the key of the job that a fact is about, if it has one.
func (s *supervisor) keyOf(fact messages.Fact) Key {
	about, ok := fact.(messages.CommandFact)
	if !ok {
		return Key{}
	}
	id := about.Record().ID
	if e := s.jobs[id]; e != nil && e.asked != nil {
		return Key{Job: id, Principal: e.asked.principal, Key: e.asked.key, Digest: e.asked.digest}
	}
	return Key{}
}
