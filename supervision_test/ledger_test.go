package supervision_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

// ledger is a journal that keeps every fact for the test, and knows what may
// be said of a job. It can hold less, fail, and be looked at.
type ledger struct {
	mu    sync.Mutex
	facts []messages.FactRecorded
	keep  int // how many a reader still gets; 0: all
	err   error
	wrong []string
	quick bool            // it says that it never waits
	known *journal.Memory // what a node that begins again asks
	hang  chan struct{}   // closed when an Append may go on; nil: none waits
}

// errBroken is of a journal that panics.
var errBroken = errors.New("the journal is broken")

// Quick implements actors.Quick.
func (l *ledger) Quick() bool { return l.quick }

// Last implements actors.Journal.
func (l *ledger) Last() (messages.Seq, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return messages.Seq(len(l.facts)), l.err
}

// Append implements actors.Journal.
func (l *ledger) Append(facts []messages.FactRecorded) error {
	return l.Write(journal.Batch{Facts: facts})
}

// Write implements journal.Writer.
func (l *ledger) Write(b journal.Batch) error {
	facts := b.Facts
	if hang := l.hanging(); hang != nil {
		<-hang
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.err {
	case nil:
	case errBroken:
		panic(l.err)
	default:
		return l.err
	}
	if err := l.known.Write(b); err != nil {
		l.wrong = append(l.wrong, err.Error())
	}
	for _, f := range facts {
		last := messages.Seq(len(l.facts))
		switch {
		case f.Seq == last+1:
			l.facts = append(l.facts, f)
		case f.Seq > last:
			l.wrong = append(l.wrong, fmt.Sprintf("fact %d was written behind fact %d", f.Seq, last))
		case fmt.Sprintf("%+v", l.facts[f.Seq-1]) != fmt.Sprintf("%+v", f):
			l.wrong = append(l.wrong, fmt.Sprintf("number %d was given to two facts: %+v, %+v", f.Seq, l.facts[f.Seq-1].Fact, f.Fact))
		}
	}
	return nil
}

// Read implements actors.Journal.
func (l *ledger) Read(after messages.Seq, limit int) ([]messages.FactRecorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	from := min(int(after), len(l.facts))
	if l.keep > 0 {
		from = max(from, len(l.facts)-l.keep)
	}
	return slices.Clone(l.facts[from:min(from+limit, len(l.facts))]), nil
}

// Close implements journal.Store.
func (l *ledger) Close() error { return nil }

// The projections are those of a journal in memory, while it does not fail.

func (l *ledger) failing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// LastJobNumber implements journal.Jobs.
func (l *ledger) LastJobNumber() (uint64, error) {
	n, err := l.known.LastJobNumber()
	return n, errors.Join(err, l.failing())
}

// Live implements journal.Jobs.
func (l *ledger) Live() ([]journal.Entry, error) { return l.known.Live() }

// Finished implements journal.Jobs.
func (l *ledger) Finished(before messages.Seq, limit int) ([]journal.Entry, error) {
	return l.known.Finished(before, limit)
}

// Channels implements journal.Outbox.
func (l *ledger) Channels() ([]journal.Channel, error) { return l.known.Channels() }

// Origins implements journal.Origins.
func (l *ledger) Origins() ([]journal.Origin, error) { return l.known.Origins() }

// Ends implements journal.Ends.
func (l *ledger) Ends() ([]messages.SessionEnd, error) { return l.known.Ends() }

// fail makes the journal refuse everything, until fail(nil).
func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// hold makes every Append wait until the channel is closed.
func (l *ledger) hold(until chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hang = until
}

func (l *ledger) hanging() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hang
}

// all are the facts so far.
func (l *ledger) all() []messages.FactRecorded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.facts)
}

// last is the newest number.
func (l *ledger) last() messages.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return messages.Seq(len(l.facts))
}

// words are the facts about a job.
func (l *ledger) words(id messages.JobID) string {
	var words []string
	for _, f := range l.all() {
		if fact, ok := f.Fact.(messages.CommandFact); ok && fact.Record().ID == id {
			words = append(words, word(f.Fact))
		}
	}
	return strings.Join(words, " ")
}

// others are the facts about sessions and scopes.
func (l *ledger) others() []string {
	var words []string
	for _, f := range l.all() {
		if _, ok := f.Fact.(messages.CommandFact); !ok {
			words = append(words, word(f.Fact))
		}
	}
	return words
}

// word is a fact as the tests write it.
func word(fact messages.Fact) string {
	switch f := fact.(type) {
	case messages.CommandFinished:
		return "finished:" + string(f.Job.End.Outcome)
	case messages.SessionOpened:
		return fmt.Sprintf("session+%s:%s", f.Info.Scope, f.Info.Session)
	case messages.SessionClosed:
		return fmt.Sprintf("session-%s:%s", f.Scope, f.Session)
	case messages.ScopeOpened:
		return "scope+" + string(f.Path)
	case messages.ScopeClosed:
		return "scope-" + string(f.Path)
	}
	name := fmt.Sprintf("%T", fact)
	return strings.ToLower(strings.TrimPrefix(name, "messages.Command"))
}

// check holds the journal to what is true of every node: numbers without holes,
// and for each job at most one start, one promotion, one stop and one outcome,
// in this order, and behind the outcome nothing but the retirement and what became of
// its notices.
func (l *ledger) check(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	wrong := slices.Clone(l.wrong)
	l.mu.Unlock()
	lives := map[messages.JobID]*life{}
	for i, f := range l.all() {
		if f.Seq != messages.Seq(i+1) {
			wrong = append(wrong, fmt.Sprintf("fact %d has the number %d", i+1, f.Seq))
		}
		fact, ok := f.Fact.(messages.CommandFact)
		if !ok {
			continue
		}
		job := fact.Record()
		if lives[job.ID] == nil {
			lives[job.ID] = &life{uid: job.UID}
		}
		if job.Seq != f.Seq {
			wrong = append(wrong, fmt.Sprintf("the record in fact %d says %d", f.Seq, job.Seq))
		}
		for _, complaint := range lives[job.ID].hear(fact) {
			wrong = append(wrong, fmt.Sprintf("fact %d: %s: %s", f.Seq, job.ID, complaint))
		}
	}
	for _, w := range wrong {
		t.Error("the journal: " + w)
	}
}

// unfinished are the jobs it knows of that have no outcome.
func (l *ledger) unfinished() []messages.JobID {
	open := map[messages.JobID]bool{}
	for _, f := range l.all() {
		if fact, ok := f.Fact.(messages.CommandFact); ok {
			job := fact.Record()
			open[job.ID] = job.End.Outcome == ""
		}
	}
	var ids []messages.JobID
	for id, is := range open {
		if is {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// life is what was told of one job.
type life struct {
	uid                                            messages.UID
	started, promoted, stopping, finished, retired bool
	outcome                                        messages.Outcome
}

func (l *life) hear(fact messages.CommandFact) []string {
	var wrong []string
	once := func(seen *bool, what string) {
		if *seen {
			wrong = append(wrong, what+" was told twice")
		}
		*seen = true
	}
	job := fact.Record()
	_, retiring := fact.(messages.CommandRetired)
	_, notified := fact.(messages.CommandNotified)
	if _, changed := fact.(messages.CommandChanged); changed && len(job.Faults) > 0 {
		return nil
	}
	switch {
	case l.uid != job.UID:
		wrong = append(wrong, "its uid changed")
	case notified && !l.finished, !notified && (l.retired || l.finished && !retiring):
		wrong = append(wrong, word(fact.(messages.Fact))+" was told behind the end")
	case l.outcome != "" && l.outcome != job.End.Outcome:
		wrong = append(wrong, fmt.Sprintf("its outcome was %s and is %s", l.outcome, job.End.Outcome))
	}
	l.outcome = job.End.Outcome
	switch fact.(type) {
	case messages.CommandQueued:
		if l.started {
			wrong = append(wrong, "it is queued again")
		}
	case messages.CommandStarted:
		once(&l.started, "its start")
	case messages.CommandPromoted:
		once(&l.promoted, "its promotion")
	case messages.CommandStopping:
		once(&l.stopping, "its stop")
	case messages.CommandFinished:
		once(&l.finished, "its end")
		if job.End.Outcome == "" || job.End.At.IsZero() {
			wrong = append(wrong, fmt.Sprintf("it ended with the outcome %q at %v", job.End.Outcome, job.End.At))
		}
	case messages.CommandRetired:
		once(&l.retired, "its retirement")
		if !l.finished {
			wrong = append(wrong, "it retired before it had ended")
		}
	}
	return wrong
}
