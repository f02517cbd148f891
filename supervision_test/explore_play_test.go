package supervision_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// explorer plays one schedule in a house.
type explorer struct {
	*house
	rng  *rand.Rand
	done []string // what was played, as people read it

	faulty  bool // actors are made to fail
	crashes int
	end     ending

	runs    []*client
	lost    map[messages.UID]bool // jobs that the engine forgot
	keyed   map[string]bool       // by the key: the same request was made again
	away    map[string]bool       // clients that went away, by PID
	calls   []*call
	unheard []*client // that wait for their reply
	closing bool      // the end has begun

	failing     bool      // the journal is
	mended      time.Time // when it was well again
	failedAtEnd bool
	removed     bool // a job was removed, and with it its key

	mu    sync.Mutex
	lives map[string]*course // by text
}

// call is a run by the door of the library.
type call struct {
	text string
	dies bool // with its node
	over bool
	job  messages.Record
	err  error
	stop context.CancelFunc
}

// maxCrashes bounds the faults of a schedule: a recorder that fails more often
// in ten seconds ends the journal, which has a test of its own.
const maxCrashes = 5

func newExplorer(n testing.TB, rng *rand.Rand) *explorer {
	x := &explorer{rng: rng, lost: map[messages.UID]bool{}, keyed: map[string]bool{}, away: map[string]bool{}, lives: map[string]*course{}}
	x.faulty = x.chance(60)
	x.end = pick(x, endings...)
	parallel, queue, records := pick(x, 1, 2, 3, 64), pick(x, 1, 4, 32), pick(x, 2, 100)
	x.removed = records < 100
	x.house = open(n, plan{
		fake: fake.Options{Auto: x.life, Check: pick(x, nil, looksTwice), Can: backends.Capabilities{
			Parallel: parallel, Queue: queue, Input: true, Terminal: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
		}, SettleAfter: pick(x, 0, 0, time.Second, 5*time.Second)},
		limits: actors.Limits{
			Starts: pick(x, 1, 2, 64), Unstarted: pick(x, 4, 64), Finished: records, Channels: 8, Watches: 8,
			Shells: pick(x, 0, 1, 3), ShellIdle: pick(x, 0, time.Minute, time.Hour),
		},
		slow: x.chance(50),
		urls: &urls{answer: moody},
	})
	x.stage.pardonDead(x.pardon)
	x.note("parallel %d, queue %d, faults %v, %s", parallel, queue, x.faulty, x.end.name)
	return x
}

// moody is a receiver that takes some ends at once, some later, and some never.
func moody(d messages.Delivery, try int) messages.Delivered {
	switch {
	case d.To == elsewhere && d.Seq%5 == 0:
		return messages.Delivered{Err: busy.Err, Gone: true}
	case messages.Seq(try) <= d.Seq%3:
		return busy
	}
	return messages.Delivered{}
}

// looksTwice is a place that must look before it knows whether a command can run.
func looksTwice(backends.Command) *messages.Error { return nil }

// pardon lets be what is told to a client that went away (an asker of the node goes only
// when its caller has given up, maybe in the instant of the reply), what a look has found for
// a session that has just gone, a timer that rang in the instant in which its command went,
// what is asked of a node that is over, and, where a node is not given the time to end in
// order, what its parts told one another.
func (x *explorer) pardon(dead *actor.DeadLetterEvent) bool {
	switch fmt.Sprintf("%T", dead.Message) {
	case "supervision_test.boom", "actors.checkResult", "actors.scanTick":
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	below := strings.HasPrefix(dead.PID.Id, "supervisor/")
	return x.away[dead.PID.Id] || dead.PID.Address == "reply" || x.closing && (dead.PID.Id == "supervisor" || x.cut && below)
}

// chance is true so many times of a hundred.
func (x *explorer) chance(percent int) bool { return x.rng.IntN(100) < percent }

func pick[T any](x *explorer, of ...T) T { return of[x.rng.IntN(len(of))] }

func (x *explorer) note(format string, args ...any) {
	x.done = append(x.done, fmt.Sprintf("%8s  ", x.since())+fmt.Sprintf(format, args...))
}

// overdue is beyond the longest budget of a run, and what it may take beside that.
const overdue = 10*time.Second + slowest + time.Second

// play plays so many ops, and the end.
func (x *explorer) play(ops int) {
	defer x.hangUp()
	for range ops {
		x.op()
		if x.chance(70) {
			x.after(0)
			x.look()
		}
	}
	if ops%2 == 0 { // what has a bound and does not end by itself is overdue then
		x.after(overdue)
		x.look()
	}
	x.end.play(x)
	x.after(aYear)
	x.judge()
}

// hangUp gives up the calls that were never answered, for their goroutines.
func (x *explorer) hangUp() {
	for _, c := range x.calls {
		c.stop()
	}
}

// op plays one thing.
func (x *explorer) op() {
	n := 0
	for _, o := range ops {
		n += o.weight
	}
	n = x.rng.IntN(n)
	for _, o := range ops {
		if n -= o.weight; n < 0 {
			o.play(x)
			return
		}
	}
}

// request asks what is answered.
func (x *explorer) request(r any) *client {
	x.note("%s", say(r))
	c := x.send(r)
	x.unheard = append(x.unheard, c)
	return c
}

// course makes up the life of a process.
func (x *explorer) course() *course {
	l := &course{Script: fake.Script{
		Begin:  pick(x, 0, 0, time.Millisecond, 100*time.Millisecond, 2*time.Second, 10*time.Second),
		Nature: pick(x, fake.Stubborn, fake.Obedient),
	}}
	if x.chance(10) {
		l.Fail, l.Shell = &messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no such program"}, 127
		return l
	}
	for range x.rng.IntN(4) {
		l.writes(x.while(), pick(x, "a", "ready\n", "some text\nand more"))
	}
	at := pick(x, 0, time.Millisecond, 10*time.Millisecond, time.Second, time.Second, 20*time.Second, 5*time.Minute, 10*time.Hour)
	if code, signal := x.rng.IntN(3), pick(x, "SEGV", "KILL", "TERM"); x.chance(90) {
		l.then(at, fmt.Sprintf("exit %d", code), func(p *fake.Process) { p.Exit(code) })
	} else {
		l.then(at, "signal "+signal, func(p *fake.Process) { p.ExitSignal(signal) })
	}
	if x.chance(35) {
		l.Leave = pick(x, leftovers...)
		l.writes(x.while(), "late")
		if x.chance(30) {
			l.then(x.while(), "closes its output", func(p *fake.Process) { p.CloseOutput() })
		}
		l.then(pick(x, x.while(), 10*time.Hour), "its children end", func(p *fake.Process) { p.EndTree() })
	}
	return l
}

// leftovers are what processes leave behind.
var leftovers = []fake.Children{
	{N: 1},
	{N: 1, Output: true},
	{N: 2, Output: true, Stubborn: true},
	{N: 1, Stubborn: true},
	{N: 1, Stubborn: true, Survivors: []messages.Survivor{{PID: 77, State: "D", Wchan: "nfs_wait"}}},
}

func (x *explorer) while() time.Duration {
	return pick(x, 0, time.Millisecond, 10*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second, 10*time.Second)
}

// life gives a process the course that was made up for it.
func (x *explorer) life(text string) *fake.Script {
	x.mu.Lock()
	defer x.mu.Unlock()
	if l := x.lives[text]; l != nil {
		return &l.Script
	}
	return nil
}

// born makes up the next process; its text names it.
func (x *explorer) born() (text string) {
	l := x.course()
	x.mu.Lock()
	defer x.mu.Unlock()
	text = fmt.Sprintf("job %d", len(x.lives)+1)
	x.lives[text] = l
	return text
}

// call runs a command by the door, for a caller who may give up.
func (x *explorer) call(r messages.RunCommand, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c := &call{text: r.Text, stop: cancel}
	x.calls = append(x.calls, c)
	go func() {
		job, err := x.node.Run(ctx, r)
		x.mu.Lock()
		defer x.mu.Unlock()
		c.job, c.err, c.over = job, err, true
	}()
}

var errJournal = errors.New("no space left on device")

// breakJournal makes the journal fail for a while.
func (x *explorer) breakJournal(d time.Duration) {
	x.ledger.fail(errJournal)
	x.setFailing(true)
	time.AfterFunc(d, func() {
		x.ledger.fail(nil)
		x.setFailing(false)
	})
}

func (x *explorer) setFailing(is bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failing, x.mended = is, time.Now()
	x.failedAtEnd = x.failedAtEnd || is && x.closing
}

// journalFails says whether the journal fails, or did a moment ago.
func (x *explorer) journalFails() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failing || !x.mended.IsZero() && time.Since(x.mended) < 2*recordRetry
}

// recordRetry is how long a recorder waits at most before it tries again.
const recordRetry = 5 * time.Second

// living are the processes that can be played, in the order of their start.
func (x *explorer) living() []*fake.Process {
	return slices.DeleteFunc(x.engine.Live(), func(p *fake.Process) bool { return !p.Owned() || p.Spec.Live != nil })
}
