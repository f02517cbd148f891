package actors

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// crew plays the jobs that a gather stops.
type crew struct {
	refuses map[messages.JobID]refusal
	loses   map[messages.JobID]int           // so many requests
	slow    map[messages.JobID]time.Duration // before it has ended, from when it is first asked
	already bool
	asked   map[messages.JobID]int
	ends    map[messages.JobID]time.Time
}

// refusal is what a job says instead, so many times; 0: always.
type refusal struct {
	code  messages.Code
	times int
}

// gatherers are a client and the gather that stops n jobs of a crew for it.
func gatherers(t *testing.T, n int, c *crew, play func(s *stage, by *client)) {
	t.Helper()
	onStage(t, func(s *stage) {
		c.asked, c.ends = map[messages.JobID]int{}, map[messages.JobID]time.Time{}
		s.react = c.receive
		by := s.client()
		each := make([]messages.StopCommand, 0, n+1)
		for _, id := range crowd(n) {
			each = append(each, messages.StopCommand{Job: id, Grace: time.Minute})
		}
		held := weak.Make(&each[:1][0])
		s.raise(groupStopProps(s.deps, each, by.pid), kindGather)
		play(s, by)
		if left := of[childDone](s.heard.take()); len(left) != 1 {
			t.Errorf("it said ended %d times, want once", len(left))
		}
		runtime.GC()
		if held.Value() != nil {
			t.Error("it holds what it asked for behind its end")
		}
	})
}

// crowd are the first n jobs.
func crowd(n int) []messages.JobID {
	var out []messages.JobID
	for i := range n {
		out = append(out, messages.JobID(fmt.Sprintf("j%d", i+1)))
	}
	return out
}

func (c *crew) receive(ctx actor.Context) {
	r, ok := ctx.Message().(messages.StopCommand)
	if !ok {
		return
	}
	c.asked[r.Job]++
	no, refuses := c.refuses[r.Job]
	switch {
	case c.asked[r.Job] <= c.loses[r.Job]:
	case refuses && (no.times == 0 || c.asked[r.Job] <= no.times):
		ctx.Respond(messages.CommandRejected{Err: messages.Error{Code: no.code, Message: "no"}})
	case c.slow[r.Job] > 0:
		if c.ends[r.Job].IsZero() {
			c.ends[r.Job] = time.Now().Add(c.slow[r.Job])
		}
		root, to, reply := ctx.ActorSystem().Root, ctx.Sender(), c.stopped(r.Job)
		time.AfterFunc(time.Until(c.ends[r.Job]), func() { root.Send(to, reply) }) // its end answers all who asked
	default:
		ctx.Respond(c.stopped(r.Job))
	}
}

func (c *crew) stopped(id messages.JobID) messages.CommandStopped {
	return messages.CommandStopped{Jobs: []messages.JobID{id}, Already: c.already, Survivors: survivors(id)}
}

// survivors: the second job of every crew has one.
func survivors(id messages.JobID) []messages.Survivor {
	if id != "j2" {
		return nil
	}
	return []messages.Survivor{{PID: 2, State: "D"}}
}

func TestGatherStopsAll(t *testing.T) {
	gatherers(t, 3, &crew{slow: map[messages.JobID]time.Duration{"j1": 40 * time.Second}}, func(s *stage, by *client) {
		s.after(40*time.Second - 1)
		same(t, by.take())
		s.after(1)
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(3), Survivors: survivors("j2")})
		s.after(time.Minute) // the job was asked twice, and so answers twice
	})
	gatherers(t, 2, &crew{already: true}, func(_ *stage, by *client) {
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(2), Survivors: survivors("j2"), Already: true})
	})
	gatherers(t, 0, &crew{}, func(_ *stage, by *client) {
		same(t, by.take(), messages.CommandStopped{})
	})
}

// A job whose actor died over the request is asked again, and so is one whose
// answer does not come.
func TestFaultGatherAsksAgain(t *testing.T) {
	c := &crew{refuses: map[messages.JobID]refusal{"j1": {messages.Internal, 2}}, loses: map[messages.JobID]int{"j3": 3}}
	gatherers(t, 3, c, func(s *stage, by *client) {
		s.after(2*groupStopPause + groupStopTimeout)
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(3), Survivors: survivors("j2")})
		if c.asked["j2"] != 1 {
			t.Errorf("a job that had ended was asked %d times", c.asked["j2"])
		}
		s.after(groupStopTimeout) // then it believes no more in the answers that were lost
	})
}

// A job that is not there any more needs no stopping; one that is there and
// cannot be stopped is told of.
func TestGatherGivesUp(t *testing.T) {
	c := &crew{refuses: map[messages.JobID]refusal{"j1": {messages.NotFound, 0}}}
	gatherers(t, 2, c, func(s *stage, by *client) {
		s.after(groupStopRounds * groupStopPause)
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(2), Survivors: survivors("j2")})
	})
	c = &crew{refuses: map[messages.JobID]refusal{"j1": {messages.NotFound, 0}, "j2": {messages.Internal, 0}, "j3": {messages.NotFound, 0}}}
	gatherers(t, 4, c, func(s *stage, by *client) {
		s.after(groupStopRounds * groupStopPause)
		got := by.take()
		refusedWith(t, got, messages.Internal)
		if m := got[0].(messages.CommandRejected).Err.Message; !strings.Contains(m, "3 of 4") || !strings.Contains(m, "j2") || strings.Contains(m, "j4") {
			t.Errorf("said %q", m)
		}
	})
}

// A client that left, or never was, holds nothing up.
func TestGatherForNobody(t *testing.T) {
	onStage(t, func(s *stage) {
		s.react = (&crew{asked: map[messages.JobID]int{}}).receive
		s.raise(groupStopProps(s.deps, []messages.StopCommand{{Job: "j1"}}, nil), kindGather)
		if left := of[childDone](s.heard.take()); len(left) != 1 {
			t.Error("it did not end")
		}
	})
	gatherers(t, 1, &crew{slow: map[messages.JobID]time.Duration{"j1": time.Second}}, func(s *stage, by *client) {
		by.leave()
		s.after(time.Second)
	})
}

// The end of the node is told to who waits, and to nobody who was answered.
func TestGatherQuits(t *testing.T) {
	gatherers(t, 2, &crew{slow: map[messages.JobID]time.Duration{"j1": time.Hour}}, func(s *stage, by *client) {
		s.deaf = true // the job's answer comes when nobody is there
		s.tell(abort{})
		refusedWith(t, by.take(), messages.ShuttingDown)
	})
	gatherers(t, 1, &crew{loses: map[messages.JobID]int{"j1": 1}}, func(s *stage, by *client) {
		s.after(groupStopTimeout)
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(1)})
		s.tell(abort{}) // it waits for an answer that was lost
		same(t, by.take())
	})
}

// That some jobs cannot be stopped says nothing about the others, which have their
// time to end.
func TestGatherWaitsForThoseThatEnd(t *testing.T) {
	const long = groupStopTimeout + groupStopRounds*groupStopPause + 3*time.Second
	slow := map[messages.JobID]time.Duration{"j2": long}
	gatherers(t, 2, &crew{refuses: map[messages.JobID]refusal{"j1": {messages.NotFound, 0}}, slow: slow}, func(s *stage, by *client) {
		s.after(long - 1)
		same(t, by.take())
		s.after(1 + groupStopPause)
		same(t, by.take(), messages.CommandStopped{Jobs: crowd(2), Survivors: survivors("j2")})
	})
	gatherers(t, 2, &crew{refuses: map[messages.JobID]refusal{"j1": {messages.Internal, 0}}, slow: slow}, func(s *stage, by *client) {
		s.after(long + groupStopPause)
		got := by.take()
		refusedWith(t, got, messages.Internal)
		if m := got[0].(messages.CommandRejected).Err.Message; !strings.Contains(m, "1 of 2") || strings.Contains(m, "j2") {
			t.Errorf("said %q", m)
		}
	})
}
