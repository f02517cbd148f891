package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/messages"
)

// said is what a session does, in few words.
func said(todo []SessionEffect) []string {
	var out []string
	for _, e := range todo {
		switch e := e.(type) {
		case RequestSlot:
			out = append(out, "ask "+string(e.Job))
		case Begin:
			out = append(out, "begin "+string(e.Job))
		case ReturnSlot:
			out = append(out, "return "+string(e.Job))
		case RefuseJob:
			out = append(out, "refuse "+string(e.Job)+" "+string(e.Err.Code))
		}
	}
	return out
}

// script is a list of events with what must come of each.
type script []struct {
	event any
	want  string
}

func (s script) play(t *testing.T, m *Session) {
	t.Helper()
	for i, line := range s {
		if got := fmt.Sprint(said(m.Step(line.event))); got != "["+line.want+"]" {
			t.Fatalf("line %d, %T%+v: %s, want [%s]", i, line.event, line.event, got, line.want)
		}
	}
}

// A serial session runs one job at a time, in order, and lets so many wait.
func TestSessionSerial(t *testing.T) {
	s := NewSession(1, 2)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Enqueued{Job: "b"}, ""},
		{Enqueued{Job: "c"}, ""},
		{Enqueued{Job: "d"}, "refuse d queue_full"},
		{SlotGranted{"a"}, "begin a"},
		{SlotGranted{"a"}, "return a"},
		{SlotGranted{"b"}, "return b"}, // it has not asked
		{Gone{"b"}, ""},                // it was stopped while it waited
		{Gone{"a"}, "ask c"},
		{Gone{"a"}, ""},
		{Enqueued{Job: "e"}, ""},
		{SlotGranted{"c"}, "begin c"},
		{Gone{"c"}, "ask e"},
		{Gone{"e"}, ""},                // it was stopped before its turn came
		{SlotGranted{"e"}, "return e"}, // which then is of no use
	}.play(t, &s)
	if run, wait := counts(&s); run != 0 || wait != 0 {
		t.Errorf("%d run and %d wait, want none", run, wait)
	}
}

// counts are the jobs that run and those that wait.
func counts(s *Session) (run, wait int) {
	for _, st := range s.active {
		if st == running {
			run++
		} else {
			wait++
		}
	}
	return run, wait + len(s.waiting)
}

func TestSessionParallel(t *testing.T) {
	s := NewSession(2, 1)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Enqueued{Job: "b"}, "ask b"},
		{Enqueued{Job: "c"}, ""},
		{Enqueued{Job: "d"}, "refuse d queue_full"},
		{SlotGranted{"b"}, "begin b"},
	}.play(t, &s)
	if run, wait := counts(&s); run != 1 || wait != 2 {
		t.Errorf("%d run and %d wait, want 1 and 2", run, wait)
	}
	script{
		{Gone{"b"}, "ask c"},
		{SlotGranted{"c"}, "begin c"},
		{SlotGranted{"a"}, "begin a"},
	}.play(t, &s)
}

// A job that runs already takes its place, even where there is none.
func TestSessionTakes(t *testing.T) {
	s := NewSession(1, 4)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Taken{"x"}, ""},
		{Enqueued{Job: "b"}, ""},
		{SlotGranted{"a"}, "begin a"},
		{Gone{"a"}, ""}, // x is still there
		{Gone{"x"}, "ask b"},
	}.play(t, &s)
}

// A job that was told of is never refused for want of room: it changes its place.
func TestSessionOfAMovedJob(t *testing.T) {
	s := NewSession(1, 1)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Enqueued{Job: "b"}, ""},
		{Moved{Job: "c"}, ""},
		{Moved{Job: "c"}, ""},
		{Enqueued{Job: "d"}, "refuse d queue_full"},
		{Gone{"a"}, "ask b"},
		{Gone{"b"}, "ask c"},
		{Moved{Job: "c"}, "ask c"},
		{SlotGranted{"c"}, "begin c"},
		{Closed{}, ""},
		{Moved{Job: "e"}, "refuse e session_closed"},
	}.play(t, &s)
}

func TestSessionClosed(t *testing.T) {
	s := NewSession(1, 4)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Closed{}, ""},
		{Enqueued{Job: "b"}, "refuse b session_closed"},
		{SlotGranted{"a"}, "begin a"}, // what is in is stopped, not refused
	}.play(t, &s)
}

// A job that comes with its turn begins at once, or gives it back.
func TestSessionOfAJobWithItsTurn(t *testing.T) {
	s := NewSession(1, 2)
	script{
		{Enqueued{Job: "a", Turn: true}, "begin a"},
		{Enqueued{Job: "b", Turn: true}, "return b"},
		{Moved{Job: "c", Turn: true}, "return c"},
		{Enqueued{Job: "d", Turn: true}, "refuse d queue_full"},
		{Gone{"a"}, "ask b"},
		{SlotGranted{"b"}, "begin b"},
		{Closed{}, ""},
		{Moved{Job: "e", Turn: true}, "begin e"}, // it may have begun: it is stopped, not refused
	}.play(t, &s)
}

// A job that is placed again is not taken twice; one that waits for its turn
// asks for it again, in case that was forgotten.
func TestSessionAgain(t *testing.T) {
	s := NewSession(1, 1)
	script{
		{Enqueued{Job: "a"}, "ask a"},
		{Enqueued{Job: "a"}, "ask a"},
		{Enqueued{Job: "b"}, ""},
		{Enqueued{Job: "b"}, ""}, // though the queue is full
		{SlotGranted{"a"}, "begin a"},
		{Enqueued{Job: "a"}, ""},
		{Gone{"a"}, "ask b"},
		{Gone{"b"}, ""},
	}.play(t, &s)
}

// However jobs come and go: no more run than may, they begin in their order,
// each turn is used once or returned, and none is forgotten.
func TestSessionOfAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parallel, queue := rapid.IntRange(1, 3).Draw(t, "parallel"), rapid.IntRange(0, 3).Draw(t, "queue")
		s := NewSession(parallel, queue)
		var line, asking, running []messages.JobID // as they must be
		next := 0
		hear := func(todo []SessionEffect) {
			for _, e := range todo {
				ask, ok := e.(RequestSlot)
				if !ok {
					t.Fatalf("%v, want only requests for turns", said(todo))
				}
				if line[0] != ask.Job {
					t.Fatalf("%s asked before %s", ask.Job, line[0])
				}
				line, asking = line[1:], append(asking, ask.Job)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			all := slices.Concat(line, asking, running, []messages.JobID{"nobody"})
			job := rapid.SampledFrom(all).Draw(t, "job")
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				next++
				id := messages.JobID(fmt.Sprintf("j%d", next))
				turn := rapid.Bool().Draw(t, "turn")
				todo := s.Step(Enqueued{Job: id, Turn: turn})
				full := len(asking)+len(running) >= parallel && len(line) >= queue
				if refused := len(todo) > 0 && len(said(todo)[0]) > 6 && said(todo)[0][:6] == "refuse"; refused != full {
					t.Fatalf("refused %v, full %v", refused, full)
				} else if refused {
					continue
				}
				switch room := len(asking)+len(running) < parallel; {
				case turn && room:
					running = append(running, id)
					require.Equal(t, []SessionEffect{Begin{id}}, todo, "with its turn")
				case turn:
					line = append(line, id)
					require.Equal(t, []SessionEffect{ReturnSlot{id}}, todo, "it cannot use its turn")
				default:
					line = append(line, id)
					hear(todo)
				}
			case 1:
				todo := fmt.Sprint(said(s.Step(SlotGranted{job})))
				if i := slices.Index(asking, job); i >= 0 {
					asking, running = slices.Delete(asking, i, i+1), append(running, job)
					if todo != "[begin "+string(job)+"]" {
						t.Fatalf("%s, want that %s begins", todo, job)
					}
				} else if todo != "[return "+string(job)+"]" {
					t.Fatalf("%s, want that the turn of %s is returned", todo, job)
				}
			case 2:
				is := func(j messages.JobID) bool { return j == job }
				line, asking, running = slices.DeleteFunc(line, is), slices.DeleteFunc(asking, is), slices.DeleteFunc(running, is)
				hear(s.Step(Gone{job}))
			}
			if len(asking)+len(running) > parallel {
				t.Fatalf("%v ask and %v run, more than %d", asking, running, parallel)
			}
			if len(line) > 0 && len(asking)+len(running) < parallel {
				t.Fatalf("%v wait although there is room", line)
			}
			if run, wait := counts(&s); run != len(running) || wait != len(asking)+len(line) {
				t.Fatalf("counts %d and %d, want %d and %d", run, wait, len(running), len(asking)+len(line))
			}
		}
	})
}
