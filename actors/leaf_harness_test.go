package actors

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/internal/journal"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// stage holds one leaf actor under a parent that the test plays, in virtual
// time. A dead letter fails the test, and so does an actor that is left over.
type stage struct {
	t       testing.TB
	sys     *actor.ActorSystem
	deps    *Deps
	store   *fake.Store
	journal *journal.Memory
	parent  *actor.PID
	kid     *actor.PID
	heard   *ears                   // of the parent
	react   func(ctx actor.Context) // what the parent does beside listening
	deaf    bool                    // dead letters are part of the test
	crowd   []*actor.PID
}

// ears keep what somebody was told.
type ears struct {
	mu  sync.Mutex
	all []any
}

func (e *ears) hear(m any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, m)
}

// take returns what was told since it was last asked.
func (e *ears) take() []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.all
	e.all = nil
	return got
}

// poison makes an actor of a stage panic.
type poison struct{ noDeadLetter }

// spawnKid makes the actor under test.
type spawnKid struct {
	noDeadLetter
	props *actor.Props
	kind  string
}

func onStage(t *testing.T, play func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { playOn(t, play) })
}

func playOn(t testing.TB, play func(s *stage)) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &stage{
		t: t, store: fake.NewStore(), journal: journal.NewMemory(0), heard: &ears{},
		sys: actor.NewActorSystem(actor.WithDeadLetterThrottleCount(0),
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log })),
	}
	s.deps = &Deps{
		Workers: new(Workers),
		Journal: s.journal, Logs: s.store, Log: log, Middleware: []actor.ReceiverMiddleware{poisonous},
		Unhandled: func(who string, m any) { t.Errorf("%s does not know %T", who, m) },
	}
	s.sys.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*actor.DeadLetterEvent); ok && !s.deaf {
			t.Errorf("dead letter %T to %v", d.Message, d.PID)
		}
	})
	before := s.population()
	s.parent, _ = s.sys.Root.SpawnNamed(s.deps.props(func() actor.Actor { return &parent{s} }), "parent")
	play(s)
	s.settle()
	s.sys.Root.Stop(s.parent)
	s.settle()
	for _, pid := range s.crowd {
		s.sys.Root.Stop(pid)
	}
	s.settle()
	if after := s.population(); after != before {
		t.Errorf("%d actors are left over", after-before)
	}
	if n := s.store.Readers(); n != 0 {
		t.Errorf("%d logs were not closed", n)
	}
	s.deps.Workers.Apart.Close()
	s.sys.Shutdown()
}

func (s *stage) population() int {
	n := 0
	for _, shard := range s.sys.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += shard.Count()
	}
	return n
}

func poisonous(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
		if _, deadly := env.Message.(poison); deadly {
			panic("told to")
		}
		next(c, env)
	}
}

// parent is played by the test. It stops a child that has ended.
type parent struct{ s *stage }

func (p *parent) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped:
		return
	case spawnKid:
		p.s.kid = ctx.SpawnPrefix(m.props, m.kind)
		return
	case childDone:
		ctx.Stop(m.who)
	}
	p.s.heard.hear(ctx.Message())
	if p.s.react != nil {
		p.s.react(ctx)
	}
}

// settle lets everything that can happen now happen.
func (s *stage) settle() { synctest.Wait() }

// after lets virtual time pass.
func (s *stage) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// raise makes the actor under test.
func (s *stage) raise(props *actor.Props, kind string) {
	s.sys.Root.Send(s.parent, spawnKid{props: props, kind: kind})
	s.settle()
}

// tell sends the actor a message that asks nothing.
func (s *stage) tell(m any) {
	s.sys.Root.Send(s.kid, m)
	s.settle()
}

// client is somebody outside.
type client struct {
	*ears
	s   *stage
	pid *actor.PID
}

func (c *client) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case actor.AutoReceiveMessage, *actor.Started:
	default:
		c.hear(ctx.Message())
	}
}

func (s *stage) client() *client {
	c := &client{ears: &ears{}, s: s}
	c.pid = s.sys.Root.Spawn(s.deps.props(func() actor.Actor { return c }))
	s.crowd = append(s.crowd, c.pid)
	return c
}

// ask sends the actor a request of the client.
func (c *client) ask(m any) {
	c.s.sys.Root.RequestWithCustomSender(c.s.kid, m, c.pid)
	c.s.settle()
}

// leave ends the client without a word.
func (c *client) leave() {
	c.s.crowd = slices.DeleteFunc(c.s.crowd, func(p *actor.PID) bool { return p.Equal(c.pid) })
	c.s.sys.Root.Stop(c.pid)
	c.s.settle()
}

// same compares what was told with what was to be told.
func same(t testing.TB, got []any, want ...any) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %s\nwant %s", listed(got), listed(want))
	}
}

func listed(all []any) string {
	out := fmt.Sprintf("%d:", len(all))
	for _, m := range all[:min(len(all), 20)] {
		out += fmt.Sprintf("\n  %T%+v", m, m)
	}
	return out
}

// code is the code of a refusal, "" of another message.
func code(m any) messages.Code {
	switch r := m.(type) {
	case messages.RequestRejected:
		return r.Err.Code
	case messages.CommandRejected:
		return r.Err.Code
	}
	return ""
}

// refusedWith checks that the one thing told was a refusal.
func refusedWith(t testing.TB, got []any, want messages.Code) {
	t.Helper()
	if len(got) != 1 || code(got[0]) != want {
		t.Fatalf("got %s\nwant one refusal with %s", listed(got), want)
	}
}

// of picks the messages of one type.
func of[T any](all []any) []T {
	var out []T
	for _, m := range all {
		if x, ok := m.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

// fact is a numbered fact about a job.
func fact(n messages.Seq) messages.FactRecorded {
	return messages.FactRecorded{Seq: n, Fact: messages.CommandStarted{Job: messages.Record{ID: "j1", Scope: "main", Seq: n}}}
}
