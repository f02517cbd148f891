package supervision_test

import (
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// comeBack is how long a node that begins again waits for the client of a job.
const comeBack = 15 * time.Second

// owned is a foreground run whose client can ask for it again.
func owned(text string) messages.RunCommand {
	return messages.RunCommand{Text: text, Key: text, Principal: "uid:1"}
}

// gone is why a job is stopped whose client does not come back.
var gone = messages.Cause{By: messages.BySystem, Reason: "its client was gone when troupe began again", Signal: "TERM"}

// A client that lost its node and asks again in time has its job back, and one reply.
func TestReturnInTime(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("make"))
		h.die()
		h.begin()
		h.after(comeBack - time.Second)
		h.wantSignals(p)
		c := h.run(owned("make"))
		h.after(time.Hour)
		h.wantSignals(p)
		silent(c)
		p.Exit(3)
		want(h, "status", finished(c).Shell, 3)
		h.after(0)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "processes", len(h.engine.Ever()), 1)
	}, plan{})
}

// One that does not has died with the node: its job ends as one without a key does at
// once, and so does that of another principal, or another command of that key.
func TestReturnTooLate(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("make"))
		_, q := h.start(messages.RunCommand{Text: "without"})
		h.die()
		h.begin()
		h.wantSignals(q, "TERM")
		q.Exit(0)
		other := owned("make")
		other.Principal = "uid:2"
		_, stranger := h.start(other)
		other = owned("make")
		other.Timeout = time.Hour
		refused(h.ask(other), messages.Conflict)
		h.after(comeBack - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		h.wantSignals(stranger)
		stranger.Exit(0)
		p.Exit(0)
		h.after(0)
		for _, id := range []messages.JobID{"j1", "j2"} {
			want(h, "why", h.job(id).Cause, gone)
			want(h, "flag", h.job(id).HasFlag(messages.FlagClientGone), true)
		}
		h.wantFacts("j1", "started stopping finished:cancelled retired")
		late := h.run(owned("make"))
		want(h, "outcome", finished(late).Outcome, messages.Cancelled)
	}, plan{})
}

// A job that ends meanwhile is not stopped, and whoever comes has its result, also of
// one that ended while no node was there.
func TestReturnBehindTheEnd(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("one"))
		_, q := h.start(owned("two"))
		h.die()
		p.Exit(1)
		h.begin()
		q.Exit(2)
		h.after(time.Minute)
		want(h, "one", finished(h.run(owned("one"))).Shell, 1)
		want(h, "two", finished(h.run(owned("two"))).Shell, 2)
		h.wantFacts("j1", "started finished:exited retired")
		h.wantFacts("j2", "started finished:exited retired")
	}, plan{})
}

// The budget is that of the run, however often the node dies: it is not spent while
// nobody waits, and who comes back behind it is answered at once.
func TestReturnToABudget(t *testing.T) {
	for budget, deaths := range map[time.Duration]int{10 * time.Second: 1, time.Minute: 3} {
		journals(t, func(h *house) {
			r := owned("make")
			r.PromoteAfter = budget
			_, p := h.start(r)
			var waits *client
			for range deaths {
				h.die()
				h.begin()
				reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j1", After: 2 * aYear})) // its memo is written anew
				h.after(comeBack - time.Second)
				want(h, "background", h.job("j1").Background, false)
				waits = h.run(r)
			}
			h.after(max(budget-h.since(), 0))
			want(h, "background", reply[messages.CommandPromoted](waits).Job.Background, true)
			want(h, "flags", len(h.job("j1").Flags), 0)
			h.after(time.Hour)
			p.Exit(0)
			h.after(0)
			want(h, "promoted", strings.Count(h.facts("j1"), "promoted"), 1)
			want(h, "outcome", h.job("j1").Outcome, messages.Exited)
		}, plan{})
	}
}

// What somebody promotes meanwhile needs no client, and one whose client was not there
// in time is stopped by the next node as well.
func TestReturnOfNobody(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("promoted"))
		_, q := h.start(owned("stubborn"))
		h.die()
		h.begin()
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j1"}))
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j2", After: time.Hour}))
		h.again()
		h.after(comeBack)
		h.wantSignals(p)
		h.wantSignals(q, "TERM")
		h.after(messages.DefaultGrace)
		h.wantSignals(q, "TERM", "KILL")
		p.Exit(0)
	}, plan{})
	inHouse(t, func(h *house) {
		_, p := h.start(owned("promoted"))
		h.again()
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j1"}))
		h.after(time.Hour)
		h.wantSignals(p)
		p.Exit(0)
	})
}

// What somebody promotes meanwhile needs no client; one who comes back and gives up
// takes the job along.
func TestReturnAndOtherEnds(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("promoted"))
		_, q := h.start(owned("given up"))
		_, r := h.start(owned("twice"))
		h.die()
		h.begin()
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j1"}))
		c := h.run(owned("given up"))
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{Key: "given up", Principal: "uid:1"}, c.pid)
		h.after(0)
		h.wantSignals(q, "TERM")
		q.Exit(0)
		c.unmet.Store(true) // it does not hear of it
		h.after(comeBack - time.Second)
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			t.Error(err)
		}
		h.bury()
		h.begin()
		h.after(comeBack - time.Second)
		h.wantSignals(r)
		h.wantFacts("j3", "started")
		h.after(time.Second)
		h.wantSignals(r, "TERM")
		h.wantSignals(p)
		want(h, "promoted", reply[messages.CommandPromoted](h.run(owned("promoted"))).Job.ID, "j1")
		r.Exit(0)
		p.Exit(0)
	}, plan{})
}
