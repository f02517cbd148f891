package acp

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// session is a session of the client. It has one turn at a time.
type session struct {
	Session
	agent  *agent
	id     string
	remote bool // commands run in terminals of the client

	mu      sync.Mutex
	turn    *turn // nil: none
	last    *turn // the turn that began last, nil: none; its prompt may not be answered yet
	calls   int   // commands so far
	leaving bool
}

// begin starts the turn of a prompt.
func (s *session) begin(request jsontext.Value, command string) *rpcError {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.leaving:
		return unknownSession(s.id)
	case s.turn != nil:
		return refusal(codeInvalidRequest, "a prompt is running in this session; wait for its answer, or send session/cancel")
	}
	s.calls++
	ctx, cancel := context.WithCancel(s.agent.ctx)
	t := &turn{
		session: s, request: request, id: fmt.Sprintf("call_%d", s.calls), command: command, cancel: cancel,
		answered: make(chan struct{}), news: make(chan struct{}, 1),
	}
	if !s.agent.start(func() { t.run(ctx) }) {
		cancel()
		return errEnding
	}
	s.turn, s.last = t, t
	return nil
}

// end makes room for the next turn.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
}

// cancel cancels the turn, if it is the wanted one; nil: any.
func (s *session) cancel(wanted func(*turn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil && (wanted == nil || wanted(s.turn)) {
		s.turn.cancel()
	}
}

// leave cancels the turn and refuses others. It returns false if it was called before.
func (s *session) leave() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		return false
	}
	s.leaving = true
	if s.turn != nil {
		s.turn.cancel()
	}
	return true
}

// wait waits until the last prompt is answered.
func (s *session) wait() {
	s.mu.Lock()
	t := s.last
	s.mu.Unlock()
	if t != nil {
		<-t.answered
	}
}
