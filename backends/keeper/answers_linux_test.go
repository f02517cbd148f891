package keeper_test

import (
	"slices"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// A job that a broken connection let go on answers nobody for that: its client would
// take the answer for that to its own question.
func TestNobodyHearsWhatNobodyAsked(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	e := newEar(t)
	p := c.Start(shell(newUID(), "sleep 100", func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
	await[messages.ProcessStarted](e, 1)
	p.Do(backends.Pause{})
	await[messages.ControlDone](e, 1)
	p.Do(backends.Input{Data: make([]byte, 200_000)})
	for i := range 3 {
		c.Break()
		p.Do(backends.Sequenced{Control: backends.Signal{Name: "CONT"}, Nth: uint64(i + 1)})
		await[messages.ControlDone](e, 2+i)
	}
	if err := c.Ping(); err != nil {
		t.Error(err)
	}
	if n := count[messages.ControlDone](e); n != 4 || count[messages.InputWritten](e)+count[messages.ControlRefused](e) != 0 {
		t.Errorf("heard %+v", e.all())
	}
	p.Stop(messages.Cause{By: messages.ByClient}, 0)
	await[messages.TreeEnded](e, 1)
}

// A keeper of an older build gives answers no numbers: they are those to what was asked
// first, and those to what was refused meanwhile are passed over.
func TestAnswersWithoutNumbers(t *testing.T) {
	got := keeper.Unnumbered(t, messages.ControlDone{}, messages.InputWritten{Through: 3}, messages.ControlRefused{})
	want := []messages.ProcessFact{
		messages.ControlRefused{Nth: 1}, messages.InputWritten{Through: 3, Nth: 2}, messages.ControlRefused{Nth: 3},
	}
	if !slices.EqualFunc(got, want, func(a, b messages.ProcessFact) bool { return a == b }) {
		t.Errorf("heard %+v", got)
	}
}
