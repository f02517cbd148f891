package supervision_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// stage stands in front of every actor: it sees what each of them gets, keeps
// count of who is there, and makes one fail where a test says so.
type stage struct {
	mu     sync.Mutex
	once   sync.Once
	system *actor.ActorSystem
	alive  map[string]*actor.PID // by id
	gone   map[string]time.Time
	fell   map[string]time.Time
	order  []string
	seen   map[point]int
	fault  fault
	fired  int
	broke  bool // an actor was made to fail behind the handling of a message
	spoil  func(who *actor.PID, message any) int
	wrong  []string
	trace  bool
	log    []string
	dying  bool // the whole node was made to fail
	pardon []func(dead *actor.DeadLetterEvent) bool
}

// point names a kind of delivery: what arrives at which kind of actor; without a
// message, anything.
type point struct{ kind, message string }

// fault is one failure that a test asks for: when the nth message of a kind
// arrives, before or behind its handling. It fails Times times from there on.
type fault struct {
	point
	nth    int
	behind bool
	times  int // 0: once
}

func (f fault) String() string {
	when := "before"
	if f.behind {
		when = "behind"
	}
	return fmt.Sprintf("%s %s#%d/%s", f.kind, f.message, f.nth, when)
}

// boom makes the actor that gets it fail.
type boom struct{}

// IgnoreDeadLetterLogging implements the library's opt-out.
func (boom) IgnoreDeadLetterLogging() {}

func newStage() *stage {
	return &stage{alive: map[string]*actor.PID{}, gone: map[string]time.Time{}, fell: map[string]time.Time{}, seen: map[point]int{}}
}

func (s *stage) middleware(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
		s.once.Do(func() { s.listen(c.ActorSystem()) })
		before, behind := s.meet(c.Self(), env.Message)
		if before {
			panic("a fault that the test asked for")
		}
		for range s.times(c.Self(), env.Message) {
			next(c, env)
		}
		if behind {
			panic("a fault that the test asked for, behind the handling")
		}
	}
}

// times says how often a message is handled: once, unless a test spoils it to
// play a tree that is wrong.
func (s *stage) times(who *actor.PID, message any) int {
	if s.spoil == nil {
		return 1
	}
	return s.spoil(who, message)
}

// timers are what actors send themselves later. The library cannot take a
// timer back that has run out.
var timers = []string{
	"lifecycle.Expired", "actors.waitTimeout", "actors.groupStopRetry", "actors.quietTick", "actors.outputProbeTick", "actors.readTimeout",
	"actors.commit", "actors.shutdownTimeout", "actors.archiveTick", "actors.closeTick", "actors.confirmEnds", "actors.removeTick", "actors.trimTick", "actors.acksTick",
	"actors.tryAgain", "actors.recordAgain", "actors.inputProbeTick", "actors.idleTick", "actors.scanTick",
	"actors.queriesScanned", // what a scan beside the actors has found
}

// listen hears of dead letters: each is a message that was lost.
func (s *stage) listen(system *actor.ActorSystem) {
	s.system = system
	system.EventStream.Subscribe(func(event any) {
		dead, ok := event.(*actor.DeadLetterEvent)
		if !ok {
			return
		}
		switch dead.Message.(type) {
		case *actor.Stop, *actor.PoisonPill:
			return // a parent that ends stops a child once more that it has just stopped: nothing is lost
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.dying {
			return
		}
		if slices.Contains(timers, nameOf(dead.Message)) && s.gone[dead.PID.Id].Equal(time.Now()) {
			return // it ran out in the instant in which its actor ended; one that is left behind runs out later
		}
		if s.fellBefore(dead.PID) {
			return
		}
		for _, pardoned := range s.pardon {
			if pardoned(dead) {
				return
			}
		}
		s.wrong = append(s.wrong, fmt.Sprintf("dead letter to %s: %s %s", dead.PID.Id, nameOf(dead.Message), brief(dead.Message)))
	})
}

// dies says that the node is about to be killed: what its parts tell one another
// from here on is lost.
func (s *stage) dies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dying = true
}

// pardonDead lets dead letters be that a test can argue for.
func (s *stage) pardonDead(which func(dead *actor.DeadLetterEvent) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pardon = append(s.pardon, which)
}

func (s *stage) unhandled(who string, message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf("%s did not expect %T %s", who, message, brief(message)))
}

func (s *stage) complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// meet notes a delivery and says whether it is to fail.
func (s *stage) meet(who *actor.PID, message any) (before, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch message.(type) {
	case *actor.Started:
		if s.alive[who.Id] == nil {
			s.order = append(s.order, who.Id)
		}
		s.alive[who.Id] = who
	case *actor.Stopped:
		delete(s.alive, who.Id)
		s.gone[who.Id] = time.Now()
		return false, false
	case *actor.Stopping:
		s.gone[who.Id] = time.Now()
		return false, false
	case *actor.Restarting:
		return false, false
	case boom:
		s.fall(who)
		return true, false
	}
	p := point{kindOf(who), nameOf(message)}
	if s.trace {
		s.log = append(s.log, fmt.Sprintf("%s %s %s", who.Id, p.message, brief(message)))
	}
	anything := point{kind: p.kind}
	s.seen[p]++
	s.seen[anything]++
	f := s.fault
	if f.point != p && f.point != anything || s.seen[f.point] < f.nth || s.fired > f.times-1 && s.fired > 0 {
		return false, false
	}
	s.fired++
	s.dying = s.dying || p.kind == "supervisor"
	s.broke = s.broke || f.behind
	s.fall(who)
	return !f.behind, f.behind
}

// fall notes who is made to fail.
func (s *stage) fall(who *actor.PID) { s.fell[who.Id] = time.Now() }

// fellBefore says whether a dead letter is for an actor that a test made fail,
// or for one below it. What was on its way to them in that instant is lost: the
// supervisor has all of it placed again, and a client whose request is lost has
// a deadline of its own. One that asks others may get their answers any time.
func (s *stage) fellBefore(to *actor.PID) bool {
	if len(s.fell) > 0 && slices.Contains([]string{"gather", "release", "watch", "tail", "notice"}, kindOf(to)) {
		return true // an actor that fails may answer twice, and may be asked twice
	}
	for id, at := range s.fell {
		if (to.Id == id || strings.HasPrefix(to.Id, id+"/")) && at.Equal(time.Now()) {
			return true
		}
	}
	return false
}

// brokeBehind says whether two replies are those of an actor that answered, or
// passed on, and failed within the same message: the guard cannot know of it.
func (s *stage) brokeBehind(replies []any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broke || len(replies) < 2 {
		return false
	}
	for _, reply := range replies {
		if err, _ := refusal(reply); err.Code == messages.Internal {
			return true
		}
	}
	return false
}

// kindOf is the kind of an actor: "supervisor/scope-main$4" is a "scope", and a
// scope below another one is a "subscope".
func kindOf(pid *actor.PID) string {
	path := strings.Split(pid.Id, "/")
	kind, _, _ := strings.Cut(path[len(path)-1], "-")
	if kind == "scope" && len(path) > 2 {
		return "subscope"
	}
	return kind
}

// nameOf is the type of a message; of one that is routed, that of the request, and of
// news about a job, that of the fact.
func nameOf(message any) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", message), "*")
	switch name {
	case "actors.routed":
		return "routed:" + reflect.ValueOf(message).FieldByName("request").Elem().Type().String()
	case "actors.jobUpdate":
		return reflect.ValueOf(message).FieldByName("fact").Elem().Type().String()
	}
	return name
}

// all are the living actors of a kind, the eldest first.
func (s *stage) all(kind string) []*actor.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*actor.PID
	for _, id := range s.order {
		if pid := s.alive[id]; pid != nil && kindOf(pid) == kind {
			all = append(all, pid)
		}
	}
	return all
}

// find gives the youngest living actor of a kind.
func (s *stage) find(kind string) *actor.PID {
	all := s.all(kind)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// fail asks for a fault, counted from now.
func (s *stage) fail(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.fired = f, 0
	s.fault.nth += s.seen[f.point]
}

// crash makes the youngest actor of a kind fail at the next message, and waits
// until nothing moves.
func (h *house) crash(kind string) {
	h.Helper()
	pid := h.stage.find(kind)
	if pid == nil {
		h.Fatalf("there is no %s to fail", kind)
	}
	h.system().Root.Send(pid, boom{})
	h.after(0)
}

// count is how often a kind of message has arrived.
func (s *stage) count(p point) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[p]
}
