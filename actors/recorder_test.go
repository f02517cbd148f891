package actors

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// testJournal is a journal that can be told to fail, to wait or to panic.
type testJournal struct {
	Journal
	mu      sync.Mutex
	fail    error
	gate    chan struct{}
	unread  error // of reads
	panics  int
	appends [][]messages.Seq
	tries   []time.Time
}

func (j *testJournal) set(change func(*testJournal)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(j)
}

func (j *testJournal) Last() (messages.Seq, error) {
	if err := j.step(nil); err != nil {
		return 0, err
	}
	return j.Journal.Last()
}

func (j *testJournal) Append(facts []messages.FactRecorded) error {
	var seqs []messages.Seq
	for _, f := range facts {
		seqs = append(seqs, f.Seq)
	}
	if err := j.step(seqs); err != nil {
		return err
	}
	return j.Journal.Append(facts)
}

func (j *testJournal) Read(after messages.Seq, limit int) ([]messages.FactRecorded, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unread != nil {
		return nil, j.unread
	}
	return j.Journal.Read(after, limit)
}

func (j *testJournal) step(seqs []messages.Seq) error {
	j.mu.Lock()
	gate := j.gate
	j.mu.Unlock()
	if gate != nil {
		<-gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if seqs != nil {
		j.appends = append(j.appends, seqs)
		if j.panics > 0 {
			j.panics--
			panic("the journal broke")
		}
	}
	j.tries = append(j.tries, time.Now())
	return j.fail
}

func withRecorder(t *testing.T, play func(s *stage, j *testJournal)) {
	t.Helper()
	onStage(t, func(s *stage) {
		j := &testJournal{Journal: s.journal}
		s.deps.Journal = j
		play(s, j)
	})
}

// All that queues up while the journal writes goes into it at one go.
func TestRecorderCommitsInGroups(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		s.raise(recorderProps(s.deps), kindRecorder)
		same(t, s.heard.take(), recorderReady{last: 0})
		gate := make(chan struct{})
		j.set(func(j *testJournal) { j.gate = gate })
		want := []any{}
		for n := messages.Seq(1); n <= 100; n++ {
			s.tell(record{fact: fact(n)})
			want = append(want, fact(n))
		}
		same(t, s.heard.take())
		j.set(func(j *testJournal) { j.gate = nil })
		close(gate)
		s.settle()
		same(t, s.heard.take(), want...)
		if len(j.appends) != 2 || len(j.appends[0]) != 1 || len(j.appends[1]) != 99 {
			t.Errorf("appended %v, want the first fact and then all others", j.appends)
		}
	})
}

// A batch is bounded, so that a long queue is confirmed piece by piece.
func TestRecorderBoundsAGroup(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		s.raise(recorderProps(s.deps), kindRecorder)
		gate := make(chan struct{})
		j.set(func(j *testJournal) { j.gate = gate })
		s.tell(record{fact: fact(1)})
		for n := messages.Seq(2); n <= maxCommit+2; n++ {
			s.sys.Root.Send(s.kid, record{fact: fact(n)})
		}
		s.settle()
		j.set(func(j *testJournal) { j.gate = nil })
		close(gate)
		s.settle()
		if got := of[messages.FactRecorded](s.heard.take()); len(got) != maxCommit+2 {
			t.Errorf("%d facts were confirmed, want %d", len(got), maxCommit+2)
		}
		for _, batch := range j.appends {
			if len(batch) > maxCommit {
				t.Errorf("a batch had %d facts", len(batch))
			}
		}
	})
}

// A journal that fails is tried again, later and later; nothing is lost.
func TestFaultRecorderRetries(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		s.raise(recorderProps(s.deps), kindRecorder)
		s.heard.take()
		full := errors.New("no space left on device")
		j.set(func(j *testJournal) { j.fail, j.tries = full, nil })
		begin := time.Now()
		s.tell(record{fact: fact(1)})
		s.after(20 * time.Second)
		s.tell(record{fact: fact(2)})
		for _, m := range s.heard.take() {
			if f, ok := m.(recordFailed); !ok || f.err != full {
				t.Errorf("told %T%v, want that the journal is full", m, m)
			}
		}
		want := []time.Duration{0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300}
		for i, at := range j.tries {
			if i >= len(want) || at.Sub(begin) != want[i]*time.Millisecond {
				t.Fatalf("try %d came after %s, want %v ms", i, at.Sub(begin), want)
			}
		}
		j.set(func(j *testJournal) { j.fail = nil })
		s.after(recordRetryMost)
		same(t, s.heard.take(), recordFailed{}, fact(1), fact(2))
	})
}

// A journal that a read finds damaged takes no facts either, which is told once. Another failed
// read says nothing of it.
func TestRecorderFindsDamageByARead(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		s.raise(recorderProps(s.deps), kindRecorder)
		s.heard.take()
		c := s.client()
		for err, want := range map[error][]any{
			errors.New("interrupted"): {},
			&messages.Error{Code: messages.Refused, Message: "it is damaged", Hint: "restore it"}: {"never"},
		} {
			j.set(func(j *testJournal) { j.unread = err })
			c.ask(readFacts{after: 0, limit: 10})
			c.ask(readFacts{after: 0, limit: 10})
			var told []any
			for _, m := range of[recordFailed](s.heard.take()) {
				if m.never && m.err == err {
					told = append(told, "never")
				}
			}
			if len(told) != len(want) {
				t.Errorf("%v: told %v, want %v", err, told, want)
			}
		}
	})
}

// A journal that cannot be opened at first keeps the node waiting, no longer.
func TestFaultRecorderOpensLater(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		_ = s.journal.Append([]messages.FactRecorded{fact(1), fact(2)})
		locked := errors.New("locked")
		j.fail = locked
		s.raise(recorderProps(s.deps), kindRecorder)
		same(t, s.heard.take(), recordFailed{err: locked})
		s.tell(record{fact: fact(3)}) // before it is ready: it comes again
		c := s.client()
		c.ask(readFacts{after: 0, limit: 10})
		if got := of[factsRead](c.take()); len(got) != 1 || got[0].err == nil {
			t.Errorf("got %v, want an error", got)
		}
		j.set(func(j *testJournal) { j.fail = nil })
		s.after(time.Second)
		same(t, s.heard.take(), recordFailed{}, recorderReady{last: 2})
		s.tell(record{fact: fact(3)})
		same(t, s.heard.take(), fact(3))
	})
}

// A journal that can never be opened is one that can never be read.
func TestFaultRecorderNeverOpens(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		damaged := &messages.Error{Code: messages.Refused, Message: "it is damaged", Hint: "restore it"}
		j.fail = damaged
		s.raise(recorderProps(s.deps), kindRecorder)
		same(t, s.heard.take(), recordFailed{err: damaged, never: true})
		c := s.client()
		c.ask(readFacts{after: 7, limit: 10})
		same(t, c.take(), factsRead{after: 7, err: damaged})
	})
}

// A recorder that dies over a commit is made again. Facts that had queued up
// behind those that died with it must not overtake them.
func TestFaultRecorderRestarts(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		unwritten := []messages.FactRecorded{}
		s.react = func(ctx actor.Context) { // as the supervisor does
			switch m := ctx.Message().(type) {
			case recorderReady:
				for _, f := range unwritten {
					ctx.Send(s.kid, record{fact: f})
				}
			case messages.FactRecorded:
				if len(unwritten) > 0 && unwritten[0].Seq == m.Seq {
					unwritten = unwritten[1:]
				}
			}
		}
		s.raise(recorderProps(s.deps), kindRecorder)
		gate := make(chan struct{})
		j.set(func(j *testJournal) { j.gate, j.panics = gate, 1 })
		for n := messages.Seq(1); n <= 9; n++ {
			unwritten = append(unwritten, fact(n))
			s.tell(record{fact: fact(n)}) // 1 is in the hand of the one that dies, 2 to 9 wait
		}
		j.set(func(j *testJournal) { j.gate = nil })
		close(gate)
		s.settle()
		if len(unwritten) != 0 {
			t.Fatalf("%d facts were never confirmed", len(unwritten))
		}
		got, _ := s.journal.Read(0, 100)
		if len(got) != 9 {
			t.Fatalf("the journal has %d facts, want 9", len(got))
		}
		s.heard.take()
		s.tell(record{fact: fact(4)}) // it has that one
		same(t, s.heard.take(), fact(4))
	})
}

func TestRecorderReads(t *testing.T) {
	withRecorder(t, func(s *stage, j *testJournal) {
		s.raise(recorderProps(s.deps), kindRecorder)
		for n := messages.Seq(1); n <= 5; n++ {
			s.tell(record{fact: fact(n)})
		}
		c := s.client()
		c.ask(readFacts{after: 2, limit: 2})
		c.ask(readFacts{after: 5, limit: 2})
		same(t, c.take(),
			factsRead{after: 2, facts: []messages.FactRecorded{fact(3), fact(4)}, last: 5},
			factsRead{after: 5, last: 5})
		c.leave()
		c.ask(readFacts{after: 0, limit: 1}) // nobody is there to be told: no dead letter
	})
}
