package supervision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// comeBack is how long a node that begins again waits for the client of a job.
const comeBack = 15 * time.Second

// owned is a foreground run whose client can ask for it again.
func owned(text string) messages.RunCommand {
	return messages.RunCommand{Program: messages.Program{Text: text}, Key: text, Labels: messages.Labels{Principal: "uid:1"}}
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
		want(h, "status", finished(c).End.Shell(), 3)
		h.after(0)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "processes", len(h.engine.Ever()), 1)
	}, plan{})
}

// One that does not has died with the node: its job ends, with a key or without, whatever
// another principal asks for, or another command of that key.
func TestReturnTooLate(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(owned("make"))
		_, q := h.start(messages.RunCommand{Program: messages.Program{Text: "without"}})
		h.die()
		h.begin()
		other := owned("make")
		other.Principal = "uid:2"
		_, stranger := h.start(other)
		other = owned("make")
		other.Timeout = time.Hour
		refused(h.ask(other), messages.Conflict)
		h.after(comeBack - 1)
		h.wantSignals(p)
		h.wantSignals(q)
		h.after(1)
		h.wantSignals(p, "TERM")
		h.wantSignals(q, "TERM")
		h.wantSignals(stranger)
		stranger.Exit(0)
		p.Exit(0)
		q.Exit(0)
		h.after(0)
		for _, id := range []messages.JobID{"j1", "j2"} {
			want(h, "why", h.job(id).End.Cause, gone)
			want(h, "flag", h.job(id).HasFlag(messages.FlagClientGone), true)
		}
		h.wantFacts("j1", "started stopping finished:cancelled retired")
		late := h.run(owned("make"))
		want(h, "outcome", finished(late).End.Outcome, messages.Cancelled)
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
		want(h, "one", finished(h.run(owned("one"))).End.Shell(), 1)
		want(h, "two", finished(h.run(owned("two"))).End.Shell(), 2)
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
			want(h, "outcome", h.job("j1").End.Outcome, messages.Exited)
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

// unnamed is a foreground run that its client finds by the ULID it has made.
func unnamed(n int, text string) messages.RunCommand {
	return messages.RunCommand{UID: messages.UID(fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69G5F%02d", n)), Program: messages.Program{Text: text}, Labels: messages.Labels{Principal: "uid:1"}}
}

// A client without a key comes back by the ULID of its job, which is not stopped and has one
// result. Another request with that ULID is refused, and so is another principal.
func TestFaultReturnByULID(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(unnamed(1, strings.Repeat("long ", 200)))
		_, q := h.start(unnamed(2, "given up"))
		_, last := h.start(unnamed(3, "ends"))
		h.again()
		last.Exit(6)
		for range 2 {
			h.after(comeBack - time.Second)
			c, d := h.run(unnamed(1, strings.Repeat("long ", 200))), h.run(unnamed(2, "given up"))
			h.after(time.Hour)
			h.wantSignals(p)
			silent(c)
			silent(d)
			h.again()
		}
		refused(h.run(unnamed(1, "another")), messages.Conflict)
		stranger := unnamed(1, strings.Repeat("long ", 200))
		stranger.Principal = "uid:2"
		refused(h.run(stranger), messages.Conflict)
		want(h, "ended", finished(h.run(unnamed(3, "ends"))).End.Shell(), 6)
		c, d := h.run(unnamed(1, strings.Repeat("long ", 200))), h.run(unnamed(2, "given up"))
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: unnamed(2, "").UID}, d.pid)
		h.after(0)
		h.wantSignals(q, "TERM")
		d.unmet.Store(true)
		q.Exit(0)
		p.Exit(3)
		want(h, "status", finished(c).End.Shell(), 3)
		h.after(0)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "processes", len(h.engine.Ever()), 3)
	}, plan{})
}

// An ordered end of the node puts a foreground job into the background; its client comes back
// all the same and has the true end, its budget, or what a promotion answers. If it gives up
// then, the job ends with it. A job whose client stays away goes on.
func TestFaultReturnAfterAnOrderedEnd(t *testing.T) {
	journals(t, func(h *house) {
		budget := unnamed(4, "budget")
		budget.PromoteAfter = 5 * time.Minute
		all := []messages.RunCommand{unnamed(1, "waits"), owned("keyed"), unnamed(2, "promoted"), unnamed(3, "given up"), budget, unnamed(5, "away")}
		procs := map[string]*fake.Process{}
		for _, r := range all {
			_, procs[r.Text] = h.start(r)
		}
		for range 2 { // and a death after it
			if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
				t.Error(err)
			}
			h.bury()
			h.begin()
			reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j1", After: aYear})) // its metadata is written anew
			h.again()
		}
		clients := map[string]*client{}
		for _, r := range all[:5] {
			clients[r.Text] = h.run(r)
			silent(clients[r.Text])
		}
		h.after(4 * time.Minute)
		silent(clients["budget"])
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j3"}))
		reply[messages.CommandPromoted](clients["promoted"])
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: unnamed(3, "").UID}, clients["given up"].pid)
		clients["given up"].unmet.Store(true)
		h.after(time.Minute)
		reply[messages.CommandPromoted](clients["budget"])
		h.after(time.Hour)
		for text, p := range procs {
			if text != "given up" {
				h.wantSignals(p)
			}
			p.Exit(4)
		}
		h.after(0)
		want(h, "waits", finished(clients["waits"]).End.Shell(), 4)
		want(h, "keyed", finished(clients["keyed"]).End.Shell(), 4)
		want(h, "given up", h.job("j4").End.Cause.Reason, "its caller gave up")
		want(h, "away", h.job("j6").End.Outcome, messages.Exited)
	}, plan{})
}
