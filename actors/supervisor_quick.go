package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// quickJournal is a journal that never waits. The supervisor writes it itself,
// when it has dealt with a message: all that was told of in that turn at one go.
// A recorder costs each fact two messages, which are more than the writing.
//
// A call that panics has failed, as one that returns an error: both are tried
// again later, and no new work is taken until one has gone well.
type quickJournal struct {
	Journal
	log *slog.Logger

	spare  []messages.FactRecorded // room for what is told while a batch is dealt with
	wait   time.Duration           // before the next try; 0: it works
	cancel scheduler.CancelFunc
}

// newQuickJournal is the journal of a node, if it never waits.
func newQuickJournal(d *Deps) *quickJournal {
	if j, ok := d.Journal.(Quick); !ok || !j.Quick() {
		return nil
	}
	return &quickJournal{Journal: d.Journal, log: d.Log}
}

// recordAgain says that a journal that has failed may be tried again.
type recordAgain struct{ quiet }

// Last implements Journal.
func (q *quickJournal) Last() (last messages.Seq, err error) {
	defer q.caught(&err)
	return q.Journal.Last()
}

// write records all of an entry.
func (q *quickJournal) write(e Entry) (err error) {
	defer q.caught(&err)
	return write(q.Journal, e)
}

// Read implements Journal.
func (q *quickJournal) Read(after messages.Seq, limit int) (facts []messages.FactRecorded, err error) {
	defer q.caught(&err)
	return q.Journal.Read(after, limit)
}

// caught makes an error of a panic.
func (q *quickJournal) caught(err *error) {
	if reason := recover(); reason != nil {
		q.log.Error("the journal failed", slog.Any("reason", reason), slog.String("stack", string(debug.Stack())))
		*err = fmt.Errorf("it failed: %v", reason)
	}
}

// openNow asks the journal how far it is, and begins the node's work.
func (s *supervisor) openNow(ctx actor.Context) {
	last, err := s.quick.Last()
	if err != nil {
		s.recordLater(ctx, err)
		return
	}
	s.quick.wait = 0
	s.ready(ctx, recorderReady{last: last})
}

// recordNow writes what was told of since it was called last.
func (s *supervisor) recordNow(ctx actor.Context) {
	for s.quick != nil && s.quick.wait == 0 && (len(s.unwritten) > 0 || !s.aside.empty()) {
		s.writeNow(ctx)
	}
}

// writeNow writes what is unwritten. What is told of meanwhile comes behind it.
func (s *supervisor) writeNow(ctx actor.Context) {
	n := len(s.unwritten)
	if err := s.quick.write(s.whole()); err != nil {
		s.recordLater(ctx, err)
		return
	}
	s.aside = Entry{}
	s.quick.wait = 0
	s.recordFailed(ctx, recordFailed{}) // it works, if it did not
	batch := s.unwritten
	s.unwritten = append(s.quick.spare[:0], batch[n:]...)
	s.written(ctx, batch[:n])
	clear(batch)
	s.quick.spare = nil
	if cap(batch) <= maxCommit {
		s.quick.spare = batch
	}
}

// whole is all that waits to be recorded. What lies beside the facts is not moved
// yet: it may have to be tried again.
func (s *supervisor) whole() Entry {
	if !s.deps.lasts() {
		return Entry{Facts: s.unwritten}
	}
	s.withAcks()
	all := s.aside
	all.Facts = s.unwritten
	for _, r := range s.unwritten {
		if key := s.keyOf(r.Fact); key.Key != "" {
			all.Keys = append(slices.Clip(all.Keys), key)
		}
	}
	return all
}

// recordLater takes no new work until the journal has been tried again and works.
func (s *supervisor) recordLater(ctx actor.Context, err error) {
	s.recordFailed(ctx, recordFailed{err: err})
	q := s.quick
	q.wait = min(max(2*q.wait, recordRetryFirst), recordRetryMost)
	q.cancel = later(ctx, q.wait, recordAgain{})
}

func (s *supervisor) recordAgain(ctx actor.Context) {
	s.quick.cancel = nil
	if s.phase == opening {
		s.openNow(ctx)
		return
	}
	s.writeNow(ctx)
}
