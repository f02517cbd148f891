package pipe

import (
	"testing"

	"troupe/backends"
	"troupe/messages"
)

// told is an engine whose facts the test tells.
type told struct {
	backends.Engine
	facts backends.FactHandler
}

func (e *told) Start(_ backends.Spec, facts backends.FactHandler) backends.Process {
	e.facts = facts
	return backends.NotStarted{}
}

// A job leaves its place with its result if nothing of it is left: its owner lets
// go then, and no more is told. A place that stays open would hold every job it
// ever had.
func TestAJobLeavesItsPlaceWithItsResult(t *testing.T) {
	e := &told{}
	b := New(e, Options{})
	shell, err := b.Open(backends.ExecutorSpec{}, nil, func(messages.ProcessFact) {})
	if err != nil {
		t.Fatal(err)
	}
	for last, held := range map[uint64]int{3: 0, 0: 1} {
		p := shell.Start(backends.Command{ID: "A", Argv: []string{"make"}}, func(messages.ProcessFact) {})
		e.facts(messages.ProcessExited{Seq: 1, Last: last})
		p.Settle(max(1, last))
		p.Release()
		if n := len(shell.(*executor).jobs); n != held || len(b.jobs) != held {
			t.Errorf("the last fact is %d, and the place holds %d jobs, the backend %d", last, n, len(b.jobs))
		}
		e.facts(messages.TreeEnded{Seq: 2})
		b.jobs = map[messages.UID]*job{}
	}
}
