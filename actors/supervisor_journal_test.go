package actors

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// unsent is the context of an actor whose words are not heard.
type unsent struct{ actor.Context }

func (unsent) Send(*actor.PID, any) {}

// Nothing piles up for a recorder that is gone, and how far the journal came
// stays known: what it does not have is never said to be recorded.
func TestFaultWithoutARecorderNothingPilesUp(t *testing.T) {
	for _, waiting := range []int{0, 3} {
		var log bytes.Buffer
		s, e := newSupervisor(&Deps{Log: slog.New(slog.NewTextHandler(&log, nil))}), &jobEntry{job: &messages.Record{ID: "j1"}}
		s.jobs["j1"], s.phase, s.seq, s.recorder = e, open, 7, actor.NewPID("here", kindRecorder)
		for range waiting {
			s.record(unsent{}, e, messages.CommandStarted{})
		}
		s.recorderLost(unsent{})
		if !strings.Contains(log.String(), "no new work is taken") {
			t.Errorf("the log says %q", log.String())
		}
		for range 1000 {
			s.record(unsent{}, e, messages.CommandFinished{})
			s.note(unsent{}, messages.ScopeOpened{Path: "a"})
		}
		if n := len(s.unwritten); n > 1 {
			t.Errorf("%d facts are kept for nobody", n)
		}
		if s.newest() != 7 {
			t.Errorf("the journal is said to have %d facts, and has 7", s.newest())
		}
	}
}
