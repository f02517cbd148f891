package supervision_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// oneByOne is a kind of sessions that run one job at a time, and whose jobs outlive the node.
var oneByOne = fake.Options{Can: backends.Capabilities{
	Parallel: 1, Queue: 64, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
}}

// restarts are the ways in which one node follows another.
var restarts = map[string]func(*house){
	"killed": (*house).again,
	"in order": func(h *house) {
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		h.bury()
		h.begin()
	},
	"twice": func(h *house) {
		h.again()
		h.again()
	},
}

// runsNext ends the process that runs, and begins the one that is next.
func (h *house) runsNext(p *fake.Process, next string) *fake.Process {
	h.Helper()
	p.Exit(0)
	h.after(0)
	q := h.proc(next)
	if !q.Begin() {
		h.Errorf("%q has begun before", next)
	}
	h.after(0)
	return q
}

// Jobs that wait go on waiting in the next node, in their places, with all that was asked, and
// each runs once: those in the background, those whose clients come back by key or ULID, those
// that wait for a start slot, and those that were moved, renamed or promoted.
func TestFaultQueuedJobsWaitOn(t *testing.T) {
	for how, restart := range restarts {
		journals(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
			background := messages.RunCommand{
				Program: messages.Program{Text: "background"}, Mode: messages.ModeAsync, Labels: messages.Labels{Name: "x", Tag: "t", Description: "d"}, Dir: "/src", Env: messages.Env{Set: []string{"A=\xff"}, Policy: messages.EnvCaller, Base: []string{"B=2"}}, Timeout: time.Minute, Grace: time.Second, Stdio: messages.Stdio{Stdin: messages.StdinPipe, Streams: messages.SeparateStreams}, OnExit: messages.KillChildren, Store: messages.Store{Quota: messages.Quota{Bytes: 1 << 20}},
			}
			h.run(background)
			h.run(unnamed(1, "by its ULID"))
			h.run(owned("by its key"))
			h.run(unnamed(2, "moved"))
			reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j2", After: 30 * time.Second}))
			reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j5"}))
			h.run(unnamed(3, "away"))
			restart(h)
			for id, state := range map[messages.JobID]messages.State{"j1": messages.Running, "j2": messages.Queued, "j3": messages.Queued, "j4": messages.Queued, "j5": messages.Queued, "j6": messages.Queued} {
				want(h, string(id), h.job(id).State, state)
			}
			want(h, "named", h.job("x").ID, "j2")
			refused(h.run(messages.RunCommand{Program: messages.Program{Text: "another"}, Labels: messages.Labels{Name: "x"}}), messages.Conflict)
			byULID, byKey := h.run(unnamed(1, "by its ULID")), h.run(owned("by its key"))
			silent(byULID)
			want(h, "processes", len(h.engine.Ever()), 1)

			p = h.runsNext(p, "background")
			want(h, "environment", slices.Contains(p.Spec.Env, "A=\xff") && slices.Contains(p.Spec.Env, "B=2"), true)
			want(h, "directory", p.Spec.Dir, "/src")
			want(h, "quota", p.Spec.Log.Quota, 1<<20)
			want(h, "streams", len(h.job("j2").Output), 2)
			want(h, "timeout", h.job("j2").Timeout, 30*time.Second)
			p = h.runsNext(p, "by its ULID")
			p = h.runsNext(p, "by its key")
			want(h, "by its ULID", finished(byULID).End.Outcome, messages.Exited)
			if how == "killed" {
				h.after(comeBack) // nobody has asked for the last one
				want(h, "away", h.job("j6").End.Outcome, messages.Cancelled)
			}
			p = h.runsNext(p, "moved")
			finished(byKey)
			if how == "in order" { // which cancels no job
				p = h.runsNext(p, "away")
			}
			p.Exit(0)
			h.after(comeBack)
			h.wantFacts("j3", map[bool]string{true: "queued promoted changed started finished:exited retired", false: "queued changed started finished:exited retired"}[how == "in order"])
			texts := map[string]int{}
			for _, p := range h.jobs() {
				texts[p.Text()]++
				want(h, p.Text(), texts[p.Text()], 1)
			}
		}, plan{fake: oneByOne})
	}
}

// A job that waits for a start slot waits on, too, and so does one whose place was handed over.
func TestFaultQueuedForASlotWaitsOn(t *testing.T) {
	journals(t, func(h *house) {
		h.ask(messages.RunCommand{Program: messages.Program{Text: "slow"}, Mode: messages.ModeAsync})
		h.ask(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "second"}, Mode: messages.ModeAsync})
		h.ask(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "third"}, Mode: messages.ModeAsync})
		h.after(0)
		want(h, "second", h.job("j2").State, messages.Queued)
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j3", To: "c/d"}))
		h.again()
		want(h, "scope", h.job("j3").Scope, "c/d")
		want(h, "processes", len(h.engine.Ever()), 2) // the slow one needs no slot of this node
		h.proc("slow").Begin()
		for _, text := range []string{"second", "third"} {
			h.after(0)
			h.proc(text).Begin()
		}
		for _, text := range []string{"slow", "second", "third"} {
			h.after(0)
			h.proc(text).Exit(3)
		}
		h.after(0)
		want(h, "status", h.job("j3").End.Shell(), 3)
		want(h, "processes", len(h.engine.Ever()), 3)
	}, plan{limits: actors.Limits{Starts: 1}})
}

// A queued job is told of when the journal has its request, and the engine is not asked to start
// it before the journal has that it is about to.
func TestFaultStartIsRecordedFirst(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		full := make(chan struct{})
		h.ledger.hold(full)
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, Mode: messages.ModeAsync})
		h.after(time.Minute)
		silent(c)
		h.ledger.hold(nil)
		close(full)
		h.after(0)
		want(h, "answered", reply[messages.CommandPromoted](c).Job.State, messages.Queued)
		full = make(chan struct{})
		h.ledger.hold(full)
		p.Exit(0)
		h.after(time.Minute)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.ledger.hold(nil)
		close(full)
		h.after(0)
		h.proc("second").Begin()
		h.after(0)
		h.proc("second").Exit(0)
		h.after(0)
		h.wantFacts("j2", "queued changed started promoted finished:exited retired")
	}, plan{fake: oneByOne, slow: true})
}

// A job that was about to start and is with the engine is adopted. One that the engine does not
// have may have run: it is lost, and never started again.
func TestFaultStartedOrLost(t *testing.T) {
	for _, has := range []bool{true, false} {
		journals(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
			h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, Mode: messages.ModeAsync})
			p.Exit(0)
			h.after(0)
			second := h.proc("second")
			h.die()
			if !has {
				h.engine.Forget(second.ID)
			}
			h.begin()
			if has {
				second.Begin()
				h.after(0)
				second.Exit(7)
				h.after(0)
				want(h, "status", h.job("j2").End.Shell(), 7)
			} else {
				job := h.job("j2")
				want(h, "outcome", job.End.Outcome, messages.Lost)
				want(h, "status", job.End.Shell(), 125)
			}
			want(h, "processes", len(h.engine.Ever()), 2)
		}, plan{fake: oneByOne})
	}
}

// A job that was stopped while it started ends as its stop says, also if a node died meanwhile
// and the engine does not have the job.
func TestFaultStoppedWhileItStarted(t *testing.T) {
	journals(t, func(h *house) {
		h.run(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		p := h.proc("make")
		h.ask(messages.StopCommand{Job: "j1", Grace: time.Hour, Reason: "enough"})
		h.after(0)
		h.die()
		h.engine.Forget(p.ID)
		h.begin()
		job := h.job("j1")
		want(h, "outcome", job.End.Outcome, messages.Cancelled)
		want(h, "status", job.ExitCode(), 130)
		want(h, "cause", job.End.Cause.Reason, "enough")
		want(h, "error", job.End.Err, messages.Error{})
	}, plan{fake: oneByOne})
}

// A node that dies, or ends in order, at random instants runs each of its queued jobs once, and
// in their order.
func TestFaultQueueUnderRandomEnds(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			options := oneByOne
			options.Can.Parallel = 1 + int(seed%3)
			options.Auto = func(text string) *fake.Script {
				return &fake.Script{Begin: 3 * time.Millisecond, Nature: fake.Obedient, Steps: []fake.Step{fake.Exit(40*time.Millisecond, len(text))}}
			}
			inHouse(t, func(h *house) {
				random := rand.New(rand.NewPCG(seed, 1))
				const jobs = 40
				for i := range jobs {
					h.send(messages.RunCommand{Program: messages.Program{Text: "job" + strings.Repeat("x", i)}, Mode: messages.ModeAsync})
				}
				for range 12 {
					h.after(time.Duration(random.IntN(120)) * time.Millisecond)
					if random.IntN(3) == 0 {
						restarts["in order"](h)
						continue
					}
					h.again()
				}
				h.after(time.Minute)
				var order []messages.JobID
				ran := map[messages.UID]int{}
				for _, p := range h.jobs() {
					ran[p.ID]++
				}
				for _, id := range h.listed(messages.ListJobs{Finished: true}) {
					order = append(order, id)
					job := h.job(id)
					want(h, "outcome of "+string(job.ID), job.End.Outcome, messages.Exited)
					want(h, "starts of "+string(job.ID), ran[job.UID], 1)
				}
				want(h, "jobs", len(order), jobs)
			}, plan{fake: options, slow: seed%2 == 0, limits: actors.Limits{Starts: 1 + int(seed%2)}})
		})
	}
}
