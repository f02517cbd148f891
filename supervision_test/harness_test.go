package supervision_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// house is a whole node whose processes are played by the test, in virtual
// time. Whatever the test does, the promises that hold for every node are
// checked at its end: see house.end and ledger.check.
type house struct {
	testing.TB
	node   *node.Node
	engine *fake.Engine
	store  *fake.Store
	ledger *ledger
	stage  *stage
	began  time.Time
	plan   plan
	kinds  map[string]backends.Backend
	mortal fault // of the next node

	clients []*client
	subs    []*subscriber
	over    bool // the test has ended the node itself
	left    bool // … and left jobs with the engine
	cut     bool // … or it came before the replies
}

// plan says how a house is made. The zero value has a fake engine whose
// processes are all left to the test, and limits as by default.
type plan struct {
	fake   fake.Options
	limits actors.Limits
	keep   int  // facts the journal holds; 0: all
	slow   bool // the journal may wait: the recorder has a goroutine of its own
	more   map[string]fake.Options
	urls   *urls // who is told of ends
}

// inHouse opens a node in virtual time, lets the test play, and ends it.
func inHouse(t *testing.T, body func(h *house), plans ...plan) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var p plan
		for _, p = range plans { //nolint:revive // the last one counts
		}
		h := open(t, p)
		body(h)
		h.end()
	})
}

// starts is how many starts are under way at a time, unless a test says
// otherwise: enough not to be in its way.
const starts = 64

func open(t testing.TB, p plan) *house {
	t.Helper()
	h := &house{TB: t, store: fake.NewStore(), ledger: &ledger{keep: p.keep, quick: !p.slow, known: journal.NewMemory(0)}, began: time.Now()}
	p.fake.Store = h.store
	h.engine = fake.New(p.fake)
	h.kinds = map[string]backends.Backend{actors.DefaultBackend: h.engine.Backend()}
	for name, o := range p.more {
		o.Name, o.Store = name, h.store
		h.kinds[name] = fake.New(o).Backend()
	}
	if p.limits.Starts == 0 {
		p.limits.Starts = starts
	}
	h.plan = p
	t.Cleanup(h.abort)
	h.begin()
	return h
}

// lasting is an engine that lives on when its node closes it: as one in another
// process, which a test plays by the engine itself.
type lasting struct{ *fake.Engine }

// Close implements backends.Engine.
func (lasting) Close(bool) []messages.Survivor { return nil }

// logs are those that the engine holds, too: who has one removed speaks with it.
type logs struct {
	*fake.Store
	engine *fake.Engine
}

// Remove implements spill.Store.
func (l logs) Remove(id string) error {
	l.engine.HearSettled()
	return l.Store.Remove(id)
}

// begin opens a node over the engine and the journal, which may have known others.
func (h *house) begin() {
	h.Helper()
	former := h.stage
	h.stage = newStage()
	if former != nil {
		h.stage.pardon, h.stage.spoil = former.pardon, former.spoil
	}
	h.stage.fault = h.mortal
	mortal := h.mortal.kind != ""
	h.mortal = fault{}
	h.stage.trace = os.Getenv("TROUPE_TEST_TRACE") != ""
	h.over, h.left, h.cut = false, false, false
	h.kinds[messages.BackendShell] = h.engine.ShellBackend() // of a process of its own: it knows of no shell
	var log *slog.Logger
	if os.Getenv("TROUPE_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(h.Output(), nil))
	}
	o := node.Options{
		WorkDir: "/work", Limits: h.plan.limits, Queues: map[string]int{"pair": 2}, Log: log, Backends: h.kinds, Engine: lasting{h.engine}, Logs: logs{h.store, h.engine}, Journal: h.ledger,
		Middleware: []actor.ReceiverMiddleware{h.stage.middleware}, Unhandled: h.stage.unhandled,
	}
	if h.plan.urls != nil {
		o.Webhooks = h.plan.urls
	}
	node, err := node.Open(context.Background(), o)
	if err != nil && mortal {
		synctest.Wait()
		h.begin()
		return
	}
	if err != nil {
		h.Fatal(err)
	}
	h.node = node
	h.after(0)
}

// die ends the node as a SIGKILL does, as far as those see it who live on: no more
// is told, asked or recorded. The engine and its jobs do not notice.
func (h *house) die() {
	h.Helper()
	h.stage.dies()
	h.cut = true
	h.system().Root.Send(h.top(), boom{})
	<-h.node.Failed()
	_ = h.node.Shutdown(context.Background(), messages.ShutdownNode{})
	synctest.Wait()
	h.bury()
}

// bury looks at what is left of a node that is over, whose clients are gone with it.
func (h *house) bury() {
	h.Helper()
	h.checkReplies()
	h.checkSystem()
	h.clients = nil
}

// again kills the node and opens another one over what it leaves.
func (h *house) again() {
	h.Helper()
	h.die()
	h.begin()
}

// after lets virtual time pass, and waits until nothing moves any more.
func (h *house) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// since is how long the house has stood, in virtual time.
func (h *house) since() time.Duration { return time.Since(h.began) }

// system is the actor system of the node.
func (h *house) system() *actor.ActorSystem { return h.stage.system }

// top is the supervisor.
func (h *house) top() *actor.PID { return actor.NewPID(h.system().Address(), "supervisor") }

// proc gives the last started process of a text.
func (h *house) proc(text string) *fake.Process {
	h.Helper()
	p := h.engine.Find(text)
	if p == nil {
		h.Fatalf("no process of %q was started", text)
	}
	return p
}

// jobs are the processes that were ever started for a command: a live shell is none.
func (h *house) jobs() []*fake.Process {
	return slices.DeleteFunc(h.engine.Ever(), func(p *fake.Process) bool { return p.Spec.Live != nil })
}

// run asks for a command, and waits until nothing moves.
func (h *house) run(r messages.RunCommand) *client {
	h.Helper()
	return h.ask(r)
}

// start runs a command and plays the begin of its process.
func (h *house) start(r messages.RunCommand) (*client, *fake.Process) {
	h.Helper()
	c := h.run(r)
	p := h.proc(textOf(r))
	if !p.Begin() {
		h.Fatalf("%q began before", textOf(r))
	}
	h.after(0)
	return c, p
}

func textOf(r messages.RunCommand) string {
	if r.Text != "" {
		return r.Text
	}
	return strings.Join(r.Argv, " ")
}

// job is what the node tells of a job, by id, uid or name.
func (h *house) job(id messages.JobID) messages.Record {
	h.Helper()
	return reply[messages.JobFound](h.ask(messages.FindJob{Job: id})).Job
}

// facts are the facts about a job as words: "started promoted finished:exited".
func (h *house) facts(id messages.JobID) string { return h.ledger.words(id) }

// wantFacts compares them.
func (h *house) wantFacts(id messages.JobID, want string) {
	h.Helper()
	if got := h.facts(id); got != want {
		h.Errorf("of %s was told %q, want %q", id, got, want)
	}
}

// want compares anything that prints well.
func want[T comparable](h *house, what string, got, want T) {
	h.Helper()
	if got != want {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantList compares lists.
func wantList[T comparable](h *house, what string, got []T, want ...T) {
	h.Helper()
	if !slices.Equal(got, want) {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantSignals compares the signals a process was sent.
func (h *house) wantSignals(p *fake.Process, names ...string) {
	h.Helper()
	if got := p.Signalled(); !slices.Equal(got, names) {
		h.Errorf("%q got the signals %v, want %v", p.Text(), got, names)
	}
}

// shutdown ends the node in order and gives the error of the call.
func (h *house) shutdown(r messages.ShutdownNode) error {
	h.Helper()
	h.over, h.left = true, r.KeepJobs
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err := h.node.Shutdown(ctx, r)
	synctest.Wait()
	return err
}

// abort takes the node apart where a test gave up, so that its complaint is not
// buried under goroutines that wait for ever.
func (h *house) abort() {
	if h.node == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.node.Shutdown(ctx, messages.ShutdownNode{})
	h.engine.Close(false)
	synctest.Wait()
}

// aYear is longer than anything a test arms: what fires in it was left behind.
const aYear = 365 * 24 * time.Hour

// end ends the node, unless the test did, and holds it to what every node
// promises: one outcome for each job and one reply for each request, an orderly
// journal, no process without an owner, nothing left in the actor system, no
// timer, no reader, no message that nobody took.
func (h *house) end() {
	h.Helper()
	if !h.over {
		h.begins()
		done := h.ending(context.Background(), messages.ShutdownNode{Grace: -1})
		h.begins() // whose turn came in the last moment
		if err := <-done; err != nil {
			h.Errorf("the end of the node: %v", err)
		}
	}
	h.after(aYear)
	h.checkProcesses()
	h.ledger.check(h.TB)
	if open := h.ledger.unfinished(); len(open) > 0 && !h.left {
		h.Errorf("without an outcome: %v", open)
	}
	h.checkReplies()
	h.checkSystem()
}

// begins plays the begin of what has none yet: it can only be ended then.
func (h *house) begins() {
	for _, p := range h.engine.Live() {
		p.Begin()
	}
}

func (h *house) checkProcesses() {
	h.Helper()
	for _, v := range h.engine.Violations() {
		h.Errorf("the engine was misused: %s", v)
	}
	if h.left {
		return
	}
	for _, p := range h.engine.Unsettled() {
		if p.Spec.OnExit == messages.KeepChildren {
			continue // it outlived its session: the engine keeps it until the node ends
		}
		h.Errorf("the end of %q was never settled: its engine keeps it for ever", p.Text())
	}
	for _, p := range h.engine.Live() {
		h.Errorf("the process of %q outlives its node (owned: %v, signals %v)", p.Text(), p.Owned(), p.Signalled())
	}
}

func (h *house) checkReplies() {
	h.Helper()
	for _, c := range h.clients {
		heard := c.heard()
		if n := len(heard); (n > 1 || n == 0 && !h.cut && !c.unmet.Load()) && !h.stage.brokeBehind(heard) {
			h.Errorf("%T %s had %d replies: %s", c.request, brief(c.request), n, brief(heard))
		}
		h.system().ProcessRegistry.Remove(c.pid)
	}
	for _, s := range h.subs {
		h.system().ProcessRegistry.Remove(s.pid)
	}
}

// ofTheLibrary are the names that an actor system keeps registered for itself and for the
// guardian of its top actors.
var ofTheLibrary = []string{"deadletter", "eventstream", "guardian"}

func (h *house) checkSystem() {
	h.Helper()
	for _, shard := range h.system().ProcessRegistry.LocalPIDs.LocalPIDs {
		shard.IterCb(func(name string, _ any) { // Keys would start 32 goroutines for each of 1,024 shards
			if first, _, _ := strings.Cut(name, "$"); !slices.Contains(ofTheLibrary, first) {
				h.Errorf("left in the registry: %s", name)
			}
		})
	}
	for _, complaint := range h.stage.complaints() {
		h.Error(complaint)
	}
	if h.Failed() {
		for _, l := range h.stage.log {
			h.Log(l)
		}
		for _, f := range h.ledger.all() {
			about := ""
			if fact, ok := f.Fact.(messages.CommandFact); ok {
				about = string(fact.Record().ID)
			}
			h.Logf("fact %d: %s %s", f.Seq, about, word(f.Fact))
		}
	}
	if n := h.store.Readers(); n > 0 {
		h.Errorf("%d logs were opened and not closed", n)
	}
}

// brief prints a message for a complaint.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

// locked is a list that many goroutines may add to.
type locked[T any] struct {
	mu   sync.Mutex
	list []T
}

func (l *locked[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
}

func (l *locked[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
