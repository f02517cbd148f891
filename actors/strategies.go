package actors

import (
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The kinds of actors: prefixes of the names in their PIDs.
const (
	kindSupervisor   = "supervisor"
	kindScope        = "scope-"
	kindSession      = "session-"
	kindCommand      = "command-"
	kindSink         = "sink-"
	kindChannel      = "channel-"
	kindRecorder     = "recorder-"
	kindWatch        = "watch-"
	kindTail         = "tail-"
	kindGather       = "gather-"
	kindScopeRelease = "release-"
	kindNotice       = "notice-"
)

// intensity is a restart limit, as in OTP. Beyond it the child is stopped and its parent
// handles the loss.
type intensity struct {
	restarts int
	within   time.Duration
}

// restarted returns the restart limit of a kind that holds nothing unique and is restarted
// with its queue. All other kinds are stopped. What they hold (a process, a shell, a
// client) does not start again; their parent spawns an actor that adopts it
// (docs/decisions/002).
func restarted(kind string) (intensity, bool) {
	switch kind {
	case kindSink:
		return intensity{3, 10 * time.Second}, true
	case kindRecorder:
		return intensity{5, 10 * time.Second}, true
	}
	return intensity{}, false
}

// kindOf returns the kind in the name of a PID: "supervisor/scope-main$4" → "scope-".
func kindOf(pid *actor.PID) string {
	name := pid.Id[strings.LastIndexByte(pid.Id, '/')+1:]
	if i := strings.IndexByte(name, '-'); i >= 0 {
		return name[:i+1]
	}
	return name
}

// byKind is the strategy of every parent: one for one, by the child's kind. It never
// escalates, which would end the process.
type byKind struct{}

// HandleFailure implements the library's SupervisorStrategy.
func (byKind) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, stats *actor.RestartStatistics, _, _ any) {
	limit, again := restarted(kindOf(child))
	if !again {
		parent.StopChildren(child)
		return
	}
	stats.Fail()
	if stats.NumberOfFailures(limit.within) > limit.restarts {
		stats.Reset()
		parent.StopChildren(child)
		return
	}
	parent.RestartChildren(child)
}

// stopAll is the strategy of the guardian above the supervisor. A crash of the supervisor ends
// the node; the guard reports it by Deps.Failed.
type stopAll struct{}

// HandleFailure implements the library's SupervisorStrategy.
func (stopAll) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	parent.StopChildren(child)
}
