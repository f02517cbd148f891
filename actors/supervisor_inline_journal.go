package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// inlineJournal is a journal that never waits. After each message the supervisor writes all
// its facts at once. A recorder would cost each fact two messages, more than the write.
//
// A panic counts as an error. Writes are repeated later, and no new work is taken until one
// succeeds.
type inlineJournal struct {
	Journal
	log  *slog.Logger
	wait time.Duration // before the next try; 0: it works
}

// recordAgain says that the next try of a failing journal is due.
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
			err = fmt.Errorf("it crashed: %v", reason)
		}
	}()
	return call()
}

// recordNow writes all new facts and entries.
func (s *supervisor) recordNow(ctx actor.Context) {
	for s.inlineJournal != nil && s.inlineJournal.wait == 0 && (len(s.unwritten) > 0 || !s.pendingEntry.empty()) {
		s.recordAgain(ctx)
	}
}

// recordAgain writes all waiting facts. In a new node it reads the newest number instead and
// opens the node.
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

// whole returns all that waits for the journal. pendingEntry stays, for another try.
func (s *supervisor) whole() JournalEntry {
	s.withAcks()
	all := s.pendingEntry
	all.Facts = s.unwritten
	for _, r := range s.unwritten {
		if key := s.keyOf(r.Fact); key.Key != "" {
			all.Keys = append(all.Keys, key)
		}
		if request := s.requestOf(r.Fact); request.Run != nil {
			all.Requests = append(all.Requests, request)
		}
	}
	return all
}
