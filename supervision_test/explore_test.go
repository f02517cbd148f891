package supervision_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/internal/test/need"
)

// How much is explored, and how large a schedule is: enough that several jobs,
// failures and closings overlap, and small enough that its ops can be read.
const (
	schedules     = 500
	soakSchedules = 10_000
	fewestOps     = 8
	mostOps       = 40
	shown         = 3 // failing schedules that are printed
)

// hangs is how long a schedule may take in real time. It takes some 50 ms.
const hangs = 2 * time.Minute

// Whatever clients ask, processes do, actors fail over and journals refuse, and
// whenever the node ends: every job has one outcome, the same for everybody,
// every request has one reply in time, no fact is told behind the end, no timer,
// actor or process is left. A schedule is its seed: what is done, and when, comes
// from it; only the interleaving of goroutines within an instant does not.
//
//	TROUPE_EXPLORE=5000 go test -run TestExplore$ ./supervision_test
//	TROUPE_EXPLORE_SEED=17 go test -v -run TestExplore$ ./supervision_test
func TestExplore(t *testing.T) {
	if seed, replay := number(t, "TROUPE_EXPLORE_SEED"); replay {
		r := explore(t, seed, mostOps, nil)
		t.Logf("schedule %d:\n%s", seed, strings.Join(r.ops, "\n"))
		for _, w := range append(r.wrong, r.log...) {
			t.Log(w)
		}
		if len(r.wrong) > 0 {
			t.Fail()
		}
		return
	}
	n, set := number(t, "TROUPE_EXPLORE")
	if !set {
		n = schedules
	}
	if !set && need.Soak() {
		n = soakSchedules
	}
	const lanes = 4
	failed := make(chan struct{}, shown)
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprintf("lane %d", lane), func(t *testing.T) {
			t.Parallel()
			for seed := lane + 1; seed <= n; seed += lanes {
				if r := explore(t, seed, mostOps, nil); len(r.wrong) > 0 {
					tell(t, seed, r)
					select {
					case failed <- struct{}{}:
					default:
						t.Fatal("enough schedules failed")
					}
				}
			}
		})
	}
}

// number is a number from the environment.
func number(t *testing.T, name string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n, true
}

// tell prints a failing schedule, as short as dropping its last ops makes it.
func tell(t *testing.T, seed uint64, r report) {
	t.Helper()
	for _, most := range []int{len(r.ops) / 4, len(r.ops) / 2, len(r.ops) * 3 / 4} {
		if short := explore(t, seed, most, nil); len(short.wrong) > 0 {
			r = short
			break
		}
	}
	t.Errorf("schedule %d: %s\nit was:\n%s\nplay it again: TROUPE_EXPLORE_SEED=%d go test -race -count=1 -v -run 'TestExplore$' ./supervision_test",
		seed, strings.Join(r.wrong, "\n"), strings.Join(r.ops, "\n"), seed)
}

// report is what became of a schedule.
type report struct{ ops, wrong, log []string }

// explore plays at most so many ops of a schedule, and its end. A tree that is
// wrong is played by spoiling what its actors get.
func explore(t *testing.T, seed uint64, most int, spoil spoiler) (r report) {
	t.Helper()
	alarm := time.AfterFunc(hangs, func() { panic(fmt.Sprintf("schedule %d hangs", seed)) })
	defer alarm.Stop()
	defer func() {
		if reason := recover(); reason != nil {
			panic(fmt.Sprintf("schedule %d: %v", seed, reason))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		n := &notes{TB: t}
		rng := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // it is to be the same again
		x := newExplorer(n, rng)
		if spoil != nil {
			x.house.stage.spoil = spoil()
		}
		defer func() {
			r = report{x.done, n.wrong, n.log}
		}()
		defer n.gaveUp()
		x.play(min(fewestOps+rng.IntN(mostOps-fewestOps), most))
	})
	return r
}

// notes takes complaints down, so that a schedule can be tried again before it
// is told of.
type notes struct {
	testing.TB
	mu         sync.Mutex
	wrong, log []string
}

// enough ends a schedule that makes no sense any more.
type enough struct{}

func (n *notes) gaveUp() {
	if reason := recover(); reason != nil && reason != (enough{}) {
		panic(reason)
	}
}

func (n *notes) Helper() {}

func (n *notes) Error(args ...any) { n.Errorf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong = append(n.wrong, fmt.Sprintf(format, args...))
}

func (n *notes) Fatal(args ...any) {
	n.Error(args...)
	panic(enough{})
}

func (n *notes) Fatalf(format string, args ...any) {
	n.Errorf(format, args...)
	panic(enough{})
}

func (n *notes) Log(args ...any) { n.Logf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

func (n *notes) Logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

func (n *notes) Failed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.wrong) > 0
}

// spoiler makes a tree wrong: it gives what says how often a message is handled.
type spoiler func() func(who *actor.PID, message any) int
