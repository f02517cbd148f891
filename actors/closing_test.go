package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A part of the tree that has told its end tells it no more, whoever asks for it
// while the word is on its way: its parent would tell of it twice.
func TestAnEndIsToldOnce(t *testing.T) {
	onStage(t, func(s *stage) {
		s.deps.Backends = map[string]backends.Backend{DefaultBackend: fake.New(fake.Options{}).Backend()}
		s.raise(s.deps.props(func() actor.Actor {
			return newSession(s.deps, openSession{ask: messages.OpenSession{Scope: "main", Session: "s"}})
		}), kindSession)
		for range 2 {
			s.tell(routed{to: messages.Address{Scope: "main", Session: "s"}, request: messages.CloseSession{}})
		}
		if n := len(of[sessionStopped](s.heard.take())); n != 1 {
			t.Errorf("the session has told its end %d times", n)
		}
	})
	onStage(t, func(s *stage) {
		s.raise(s.deps.props(func() actor.Actor { return newScope(s.deps, "main") }), kindScope)
		for range 2 {
			s.tell(routed{to: messages.Address{Scope: "main"}, request: messages.CloseScope{Path: "main"}})
		}
		if n := len(of[scopeStopped](s.heard.take())); n != 1 {
			t.Errorf("the scope has told its end %d times", n)
		}
	})
}
