package supervision_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// Whoever waits for a job that is then refused is told so.
func TestAskedOfAJobThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := make(chan struct{})
		h := open(t, plan{fake: fake.Options{Check: func(backends.Command) *messages.Error {
			<-looked
			return &messages.Error{Code: messages.CwdNotFound, Message: "no such directory"}
		}}})
		c := h.send(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}})
		wait := h.ask(messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(uid(1))}})
		limited := h.ask(messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Timeout: time.Minute})
		silent(wait)
		close(looked)
		refused(c, messages.CwdNotFound)
		refused(wait, messages.CwdNotFound)
		refused(limited, messages.CwdNotFound)
		h.end()
	})
}

// A hand-over that meets no session ends with the refusal of its job: nothing waits for it.
func TestHandoverOfAJobThatIsRefused(t *testing.T) {
	for range 20 { // the two race
		inHouse(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "other"}, Mode: messages.ModeAsync})
			c := h.send(messages.RunCommand{UID: uid(1), Program: messages.Program{Text: "make"}, Session: "s", Open: &messages.SessionPlan{Backend: "nonsense"}})
			move := h.send(messages.HandOver{Job: messages.JobID(uid(1)), To: "b"})
			stop := h.send(messages.StopCommand{Job: messages.JobID(uid(1))})
			h.after(time.Minute)
			refused(c, messages.Unsupported)
			for _, late := range []*client{move, stop} {
				want(h, "answers", len(late.heard()), 1)
				if err := messages.Refusal(late.heard()[0]); !errors.Is(err, &messages.Error{Code: messages.Unsupported}) && !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
					h.Errorf("it was answered %v", late.heard()[0])
				}
			}
			p.Exit(0)
			reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "b"}))
		})
	}
}

// A job that is held without a place is handed over, and can be stopped there.
func TestHandoverOutOfASessionWithoutAPlace(t *testing.T) {
	broken := false
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		broken = true
		h.crash("session")
		broken = false
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		stop := h.ask(messages.StopCommand{Job: "j1", Grace: -1})
		h.wantSignals(p, "KILL")
		p.Exit(0)
		reply[messages.CommandStopped](stop)
	}, plan{fake: fake.Options{OpenFails: func(backends.ExecutorSpec) error {
		if broken {
			panic("the place is broken")
		}
		return nil
	}}})
}

// What is asked of a job whose session was given up is refused: nobody is left to do it,
// and nobody waits for ever.
func TestAskedOfAJobThatWasGivenUp(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		h.stage.fail(fault{point: point{kind: "session"}, nth: 1, times: 1000})
		h.crash("session")
		h.stage.fail(fault{})
		h.after(time.Minute)
		for _, r := range []any{messages.HandOver{Job: "j1", To: "b"}, messages.StopCommand{Job: "j1", Grace: -1}, messages.SignalCommand{Job: "j1", Signal: "INT"}} {
			want(h, "reason", refused(h.ask(r), messages.Internal).Reason, "unsupervised")
		}
		if err := h.shutdown(messages.ShutdownNode{Grace: -1}); err != nil {
			h.Error(err)
		}
		h.engine.Close(false)
		h.left = true
	})
}

// A job takes the plan of its session along to no other: the default session of the scope
// it comes to is as always.
func TestHandoverLeavesThePlanBehind(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync, Open: &messages.SessionPlan{Backend: messages.BackendPipe, Dir: "/usr"}})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		c, q := h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "b"}})
		q.Exit(0)
		want(h, "directory", finished(c).Dir != "/usr", true)
		p.Exit(0)
	})
}

// A keep that was refused keeps nothing.
func TestKeepOfAnUnsupervisedJobIsNone(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		for range 4 {
			h.crash("command")
			h.after(time.Second)
		}
		want(h, "unsupervised", h.job("j1").HasFlag(messages.FlagUnsupervised), true)
		refused(h.ask(messages.PromoteCommand{Job: "j1", Keep: true}), messages.Refused)
		left := h.ask(messages.ReleaseScope{Path: "a", Grace: -1})
		h.wantSignals(p, "KILL")
		p.Exit(0)
		reply[messages.ScopeClosed](left)
	})
}

// A deadline can be extended as often as one likes, to ten years.
func TestDeadlineCannotBeExtendedBeyondTheLimit(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Timeout: time.Hour})
		queued := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, Timeout: time.Hour})
		for _, id := range []messages.JobID{"j1", "j2"} {
			reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: id, Extend: messages.MaxDuration - 2*time.Hour}))
			for range 40 {
				refused(h.ask(messages.ChangeDeadline{Job: id, Extend: messages.MaxDuration}), messages.InvalidParams)
			}
		}
		p.Exit(0)
		finished(c)
		q := h.proc("second")
		q.Begin()
		h.after(time.Minute)
		want(h, "state", h.job("j2").State, messages.Running)
		q.Exit(0)
		finished(queued)
	}, plan{fake: serial})
}

// A hold is answered although the job takes no input, since what is held back takes none.
func TestPaceDoesNotWaitForInput(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		p.FillInput(true)
		write := h.ask(messages.WriteInput{Job: "j1", Data: []byte("x")})
		reply[messages.Acknowledged](h.ask(messages.PauseOutput{Job: "j1", Hold: true}))
		silent(write)
		reply[messages.Acknowledged](h.ask(messages.PauseOutput{Job: "j1"}))
		p.FillInput(false)
		reply[messages.InputWritten](write)
		p.Exit(0)
	})
}
