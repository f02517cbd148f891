package supervision_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// The explorer finds a tree that is wrong, of whatever kind it is: here it is
// spoiled from the outside, by messages that are dropped or handled twice.
func TestExploreBites(t *testing.T) {
	const most = 150 // schedules until it must be found
	for _, c := range []struct {
		name  string
		spoil spoiler
	}{
		{"a result is not passed on", drops("session", "messages.CommandFinished")},
		{"an outcome is told twice", doubles("supervisor", "messages.CommandFinished")},
		{"a start is told twice", doubles("supervisor", "messages.CommandStarted")},
		{"a budget or a deadline is forgotten", drops("command", "lifecycle.Expired")},
		{"a request is dropped", drops("command", "messages.PromoteCommand")},
		{"a request is answered twice", doubles("supervisor", "messages.ListJobs")},
		{"timers are left behind", drops("command", "*actor.Stopping")},
		{"a dead actor is not replaced", drops("session", "actors.childStopped")},
		{"a dead session is not replaced", drops("scope", "actors.childStopped")},
		{"an end is not settled with the engine", drops("command", "actors.recorded")},
		{"the journal misses a fact", drops("recorder", "actors.record")},
		{"a stop is forgotten", drops("command", "messages.StopCommand")},
		{"a session is not closed", drops("session", "routed:messages.CloseSession")},
		{"a turn is lost", drops("session", "routed:actors.slotGranted")},
		{"a hand-over is forgotten", drops("supervisor", "actors.jobReleased")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(most) {
				if r := explore(t, seed+1, mostOps, c.spoil); len(r.wrong) > 0 {
					t.Logf("schedule %d: %s", seed+1, brief(r.wrong[0]))
					return
				}
			}
			t.Errorf("%d schedules did not find it", most)
		})
	}
}

// every is which of the messages of a kind are spoiled: not all, so that the
// rest of a schedule is as it would be.
const every = 3

// drops loses some messages of a kind.
func drops(kind, message string) spoiler { return spoils(kind, message, 0) }

// doubles has some messages of a kind handled twice.
func doubles(kind, message string) spoiler { return spoils(kind, message, 2) }

func spoils(kind, message string, times int) spoiler {
	p := point{kind, strings.TrimPrefix(message, "*")}
	return func() func(*actor.PID, any) int {
		var seen atomic.Int64
		return func(who *actor.PID, m any) int {
			if kindOf(who) == p.kind && nameOf(m) == p.message && seen.Add(1)%every == 1 {
				return times
			}
			return 1
		}
	}
}
