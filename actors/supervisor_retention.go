package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// keepRecord adds a job to the archive. trim removes it.
func (s *supervisor) keepRecord(e *jobEntry) {
	s.archived = append(s.archived, e.job.ID)
	s.logBytes += logBytes(*e.job)
}

func logBytes(job messages.Record) (n int64) {
	for _, o := range job.Output {
		n += o.Bytes
	}
	return n
}

// trim removes the oldest archived jobs while they are too many, too old, or have too much
// output. A job with pending notices stays until they are done, unless its output is too much.
func (s *supervisor) trim(ctx actor.Context) {
	for s.trimOne(ctx) {
	}
	s.removeSoon(ctx)
	if s.limit.Age > 0 && len(s.archived) > 0 && s.trimTimer == nil {
		s.trimTimer = sendLater(ctx, max(s.jobs[s.archived[0]].job.End.At.Add(s.limit.Age).Sub(clock()), time.Second), trimTick{})
	}
}

// trimOne removes one job, or moves it to awaitingNotice. It reports whether it did.
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
	old := s.limit.Age > 0 && clock().Sub(oldest.job.End.At) >= s.limit.Age
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

// noticesPending reports whether a notice of a job is pending.
func (e *jobEntry) noticesPending() bool {
	return slices.ContainsFunc(e.job.OnFinish, func(n messages.Notice) bool { return n.State == messages.NoticePending })
}

// noticesDone removes a job that was kept only for its notices.
func (s *supervisor) noticesDone(ctx actor.Context, e *jobEntry) {
	if !e.noticesPending() && slices.Contains(s.awaitingNotice, e.job.ID) {
		s.forget(ctx, e)
		s.removeSoon(ctx)
	}
}

// trimTick says that the oldest archived job may be too old.
type trimTick struct{ noDeadLetter }

// ackDelay bounds how long an acknowledgement waits for a fact to be recorded with. A crash
// loses it; then the subscriber receives these facts again.
const ackDelay = time.Second

// acksTick says that acknowledgements have waited for ackDelay.
type acksTick struct{ noDeadLetter }

// queueEntry queues an entry for a durable journal.
func (s *supervisor) queueEntry(e JournalEntry) {
	if s.deps.lasts() {
		s.pendingEntry.add(e)
	}
}

// queueAck queues an acknowledgement for a durable journal.
func (s *supervisor) queueAck(ctx actor.Context, m messages.Acknowledge) {
	if !s.deps.lasts() || s.phase == down {
		return
	}
	s.pendingAcks.add(JournalEntry{Acks: []messages.Acknowledge{m}})
	if s.ackTimer == nil {
		s.ackTimer = sendLater(ctx, ackDelay, acksTick{})
	}
}

// flushEntry gives the queued entry to the recorder.
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

// withAcks adds the queued acknowledgements to the entry.
func (s *supervisor) withAcks() {
	s.pendingEntry.add(s.pendingAcks)
	s.pendingAcks = JournalEntry{}
	if s.ackTimer != nil {
		s.ackTimer()
		s.ackTimer = nil
	}
}

// add appends to an entry. Of each channel only the last change counts, since the journal takes
// the parts of an entry one after the other.
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

// overlook removes a channel from an entry.
func (e *JournalEntry) overlook(id messages.ChannelID) {
	e.Channels = slices.DeleteFunc(e.Channels, func(c SubscriberCursor) bool { return c.ID == id })
	e.Acks = slices.DeleteFunc(e.Acks, func(a messages.Acknowledge) bool { return a.Channel == id })
	e.Left = slices.DeleteFunc(e.Left, func(left messages.ChannelID) bool { return left == id })
}

func (e *JournalEntry) empty() bool {
	return len(e.Facts)+len(e.Keys)+len(e.Channels)+len(e.Acks)+len(e.Left)+len(e.Removed)+len(e.Outputs)+len(e.Ends) == 0
}

// keyOf returns the key of a fact's job, zero if there is none.
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
