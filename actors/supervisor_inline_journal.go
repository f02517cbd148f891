package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// inlineJournal is a journal that never waits. The supervisor writes it itself,
// when it has dealt with a message: all that was told of in that turn at one go.
// A recorder costs each fact two messages, which are more than the writing.
//
// A call that panics has failed, as one that returns an error: both are tried
// again later, and no new work is taken until one has gone well.
type inlineJournal struct {
	Journal
	log  *slog.Logger
	wait time.Duration // before the next try; 0: it works
}

// recordAgain says that a journal that has failed may be tried again.
type recordAgain struct{ noDeadLetter }

// Read implements Journal.
func (q *inlineJournal) Read(after messages.Seq, limit int) (facts []messages.FactRecorded, err error) {
	err = q.caught(func() (err error) { facts, err = q.Journal.Read(after, limit); return err })
	return facts, err
}

// caught calls the journal and returns its panic as an error.
func (q *inlineJournal) caught(call func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			q.log.Error("the journal failed", slog.Any("reason", reason), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("it failed: %v", reason)
		}
	}()
	return call()
}

// recordNow writes what was told of since it was called last.
func (s *supervisor) recordNow(ctx actor.Context) {
	for s.inlineJournal != nil && s.inlineJournal.wait == 0 && (len(s.unwritten) > 0 || !s.pendingEntry.empty()) {
		s.recordAgain(ctx)
	}
}

// recordAgain asks the journal how far it is, and begins the node's work, or writes
// all that waits. What is told of meanwhile comes behind it.
func (s *supervisor) recordAgain(ctx actor.Context) {
	q, opens, all, last := s.inlineJournal, s.phase == opening, s.whole(), messages.Seq(0)
	err := q.caught(func() (err error) {
		if opens {
			last, err = q.Last()
			return err
		}
		return write(q.Journal, all)
	})
	if err != nil {
		s.recordFailed(ctx, recordFailed{err: err})
		q.wait = min(max(2*q.wait, recordRetryFirst), recordRetryMost)
		s.retrying = sendLater(ctx, q.wait, recordAgain{})
		return
	}
	q.wait = 0
	if opens {
		s.ready(ctx, recorderReady{last: last})
		return
	}
	s.pendingEntry = JournalEntry{}
	s.recordFailed(ctx, recordFailed{}) // it works, if it did not
	s.unwritten = append([]messages.FactRecorded(nil), s.unwritten[len(all.Facts):]...)
	s.written(ctx, all.Facts)
}

// whole is all that waits to be recorded. What lies beside the facts is not moved
// yet: it may have to be tried again.
func (s *supervisor) whole() JournalEntry {
	s.withAcks()
	all := s.pendingEntry
	all.Facts = s.unwritten
	for _, r := range s.unwritten {
		if key := s.keyOf(r.Fact); key.Key != "" {
			all.Keys = append(all.Keys, key)
		}
	}
	return all
}
