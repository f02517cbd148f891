package supervision_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"troupe/messages"
)

// keyed is a request under a key.
func keyed(key, text string) messages.RunCommand {
	return messages.RunCommand{Key: key, Program: messages.Program{Text: text}, PromoteAfter: time.Minute}
}

// The same key and request again get the same job, whatever phase it is in:
// while it runs, in the background, when it has ended.
func TestIdempotencyOfTheSameRequest(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(keyed("k", "make"))
		second := h.run(keyed("k", "make"))
		silent(first)
		silent(second)
		h.after(time.Minute)
		for _, c := range []*client{first, second, h.run(keyed("k", "make"))} {
			want(h, "job", reply[messages.CommandPromoted](c).Job.ID, "j1")
		}
		p.Exit(3)
		h.after(0)
		late := h.run(keyed("k", "make"))
		want(h, "job", finished(late).ID, "j1")
		want(h, "status", finished(late).End.Shell(), 3)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.wantFacts("j1", "started promoted finished:exited retired")
	})
}

// All who asked for a job that is queued, or starting, hear how it ended.
func TestIdempotencyBeforeTheStart(t *testing.T) {
	inHouse(t, func(h *house) {
		before, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}})
		var all []*client
		for range 3 {
			all = append(all, h.run(keyed("k", "make")))
		}
		p.Exit(0)
		finished(before)
		all = append(all, h.run(keyed("k", "make"))) // it starts
		q := h.proc("make")
		q.Begin()
		q.Exit(1)
		for _, c := range all {
			want(h, "job", finished(c).ID, "j2")
		}
		want(h, "processes", len(h.engine.Ever()), 2)
	}, plan{fake: serial})
}

// Another request under a key that was used is a conflict, and starts nothing.
func TestIdempotencyConflicts(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(keyed("k", "make"))
		for _, other := range []func(r *messages.RunCommand){
			func(r *messages.RunCommand) { r.Text = "make test" },
			func(r *messages.RunCommand) { r.Scope = "elsewhere" },
			func(r *messages.RunCommand) { r.Timeout = time.Second },
			func(r *messages.RunCommand) { r.Env.Set = []string{"A=1"} },
		} {
			r := keyed("k", "make")
			other(&r)
			err := refused(h.run(r), messages.Conflict)
			want(h, "reason", err.Reason, "key")
		}
		silent(c)
		p.Exit(0)
		finished(c)
		refused(h.run(keyed("k", "other")), messages.Conflict)
		want(h, "processes", len(h.engine.Ever()), 1)
	})
}

// A key is its principal's own; where the caller's environment differs between
// two tries, they are the same request still.
func TestIdempotencyOfWhom(t *testing.T) {
	inHouse(t, func(h *house) {
		for i, who := range []messages.Principal{"ann", "bob"} {
			r := keyed("k", "make "+string(who))
			r.Principal, r.Env.Policy, r.Env.Base = who, messages.EnvCaller, []string{"TIME=1"}
			c, p := h.start(r)
			r.Env.Base = []string{"TIME=2"}
			again := h.run(r)
			p.Exit(0)
			want(h, "job", finished(c).ID, jobID(i+1))
			want(h, "job", finished(again).ID, jobID(i+1))
		}
	})
}

// What was refused has used no key; nor has what was removed.
func TestIdempotencyIsFreed(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "full", Quota: messages.ScopeQuota{Jobs: 1}}))
		_, p := h.start(messages.RunCommand{Scope: "full", Program: messages.Program{Text: "there"}, Mode: messages.ModeAsync})
		r := keyed("k", "make")
		r.Scope = "full"
		refused(h.run(r), messages.ResourceExhausted)
		p.Exit(0)
		h.after(0)
		c, p := h.start(r)
		p.Exit(0)
		first := finished(c).ID
		reply[messages.JobFound](h.ask(messages.RemoveJob{Job: first}))
		c, p = h.start(r)
		p.Exit(0)
		want(h, "another job", finished(c).ID != first, true)
	})
}

// The answer holds when what stands around the job fails in between.
func TestIdempotencyPastACrash(t *testing.T) {
	for _, kind := range []string{"command", "session", "scope"} {
		inHouse(t, func(h *house) {
			first, p := h.start(keyed("k", "make"))
			h.crash(kind)
			second := h.run(keyed("k", "make"))
			p.Exit(3)
			want(h, "status", finished(first).End.Shell(), 3)
			want(h, "job", finished(second).ID, finished(first).ID)
			want(h, "processes", len(h.engine.Ever()), 1)
		})
	}
}

// The door of the library makes another ULID for each try: the job is one.
func TestIdempotencyByTheDoor(t *testing.T) {
	inHouse(t, func(h *house) {
		jobs := make(chan messages.Record, 2)
		for range 2 {
			go func() {
				job, err := h.node.Run(context.Background(), keyed("k", "make"))
				if err != nil {
					h.Error(err)
				}
				jobs <- job
			}()
		}
		h.after(0)
		p := h.proc("make")
		p.Begin()
		p.Exit(3)
		one, two := <-jobs, <-jobs
		want(h, "job", one.UID, two.UID)
		want(h, "status", one.End.Shell(), 3)
		want(h, "processes", len(h.engine.Ever()), 1)
	})
}

// call runs a command by the door for a caller who waits so long. What it gets
// comes with the time at which it came.
func (h *house) call(r messages.RunCommand, patience time.Duration) <-chan called {
	h.Helper()
	done := make(chan called, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	go func() {
		defer cancel()
		job, err := h.node.Run(ctx, r)
		done <- called{job, err, h.since()}
	}()
	h.after(0)
	return done
}

type called struct {
	job messages.Record
	err error
	at  time.Duration
}

// Who gives up returns in that instant, whoever the job is of: it goes on while
// anybody waits for it, and is stopped when nobody does.
func TestIdempotencyOfWhoGivesUp(t *testing.T) {
	for _, order := range [][]time.Duration{
		{10 * time.Second, 20 * time.Second, 30 * time.Second},
		{30 * time.Second, 20 * time.Second, 10 * time.Second},
	} {
		inHouse(t, func(h *house) {
			var calls []<-chan called
			for _, patience := range order {
				calls = append(calls, h.call(keyed("k", "make"), patience))
			}
			p := h.proc("make")
			p.Begin()
			h.after(29 * time.Second)
			h.wantSignals(p)
			h.after(time.Second)
			h.wantSignals(p, "TERM")
			for i, c := range calls {
				got := <-c
				want(h, "given up", errors.Is(got.err, context.DeadlineExceeded), true)
				want(h, "at", got.at, order[i])
			}
			p.Exit(0)
			h.after(0)
			want(h, "outcome", h.job("j1").End.Outcome, messages.Cancelled)
		})
	}
}

// A job that another waits for, or that is in the background, goes on although
// its first caller gives up.
func TestIdempotencyOfAJobThatGoesOn(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.call(keyed("k", "make"), time.Second)
		second := h.run(keyed("k", "make"))
		p := h.proc("make")
		p.Begin()
		want(h, "given up", errors.Is((<-first).err, context.DeadlineExceeded), true)
		h.tell(messages.AbandonRun{Key: "k"}) // by nobody: what the second is owed stays
		h.after(time.Minute)
		h.wantSignals(p)
		reply[messages.CommandPromoted](second)
		third := h.call(keyed("k", "make"), time.Second)
		got := <-third
		want(h, "error", got.err, nil)
		want(h, "job", got.job.ID, "j1")
		h.after(time.Hour)
		h.wantSignals(p)
		p.Exit(0)
	})
}

// Who joins a job and gives up before it could start leaves no job behind.
func TestIdempotencyOfWhoGivesUpInTheQueue(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}})
		calls := []<-chan called{h.call(keyed("k", "make"), time.Second), h.call(keyed("k", "make"), 2*time.Second)}
		for _, c := range calls {
			want(h, "given up", errors.Is((<-c).err, context.DeadlineExceeded), true)
		}
		h.after(0)
		want(h, "outcome", h.job("j2").End.Outcome, messages.Cancelled)
		p.Exit(0)
		h.after(0)
		want(h, "processes", len(h.engine.Ever()), 1)
	}, plan{fake: serial})
}

// Those who wait for one job are bounded; who is turned away is told.
func TestIdempotencyIsBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(keyed("k", "make"))
		var last *client
		for range messages.MaxWaiting - 1 {
			last = h.send(keyed("k", "make"))
		}
		err := refused(h.run(keyed("k", "make")), messages.ResourceExhausted)
		want(h, "reason", err.Reason, "waiting")
		p.Exit(0)
		finished(first)
		finished(last)
		finished(h.run(keyed("k", "make")))
	})
}

// A ULID names one job: the same request with it joins that job, another one is refused.
func TestIdempotencyOfAULID(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}})
		joins := h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}})
		err := refused(h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "other"}}), messages.Conflict)
		want(h, "reason", err.Reason, "uid")
		p.Exit(0)
		want(h, "uid", finished(c).UID, uid(1))
		want(h, "uid", finished(joins).UID, uid(1))
		want(h, "uid", finished(h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}})).UID, uid(1))
		refused(h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "other"}}), messages.Conflict)
		want(h, "room for starts", len(h.engine.Ever()), 1)
	})
}

// A repeated run joins its job also while the journal fails: the job has its place, and starts
// when the journal can be written. A refusal would say that it does not.
func TestIdempotencyWhileTheJournalFails(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}})
		h.run(messages.RunCommand{Key: "k", Program: messages.Program{Text: "test"}})
		h.run(keyed("promoted", "serve")) // its promotion cannot be written
		h.after(0)
		h.ledger.fail(errors.New("no space left on device"))
		queued := h.run(messages.RunCommand{UID: uid(2), Program: messages.Program{Text: "lint"}})
		h.after(time.Minute)
		again := []*client{h.run(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}}), h.run(messages.RunCommand{Key: "k", Program: messages.Program{Text: "test"}}), h.run(messages.RunCommand{UID: uid(2), Program: messages.Program{Text: "lint"}})}
		other := h.run(messages.RunCommand{UID: uid(3), Program: messages.Program{Text: "other"}})
		h.after(0)
		refused(other, messages.ResourceExhausted)
		h.ledger.fail(nil)
		h.after(time.Minute)
		want(h, "processes", len(h.engine.Ever()), 4)
		for _, p := range h.engine.Ever() {
			p.Begin()
			p.Exit(0)
		}
		h.after(time.Minute)
		for i, c := range append(again, first, queued) {
			want(h, fmt.Sprint("outcome of ", i), finished(c).End.Outcome, messages.Exited)
		}
	})
}
