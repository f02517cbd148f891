package workers

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is what waits for one actor. The library's own is worked on until it is
// empty: whoever sends something to an actor that runs inline, or helps at the
// line, would be kept for as long as others send. This one lets them go.
type mailbox struct {
	apart *Pool
	to    actor.MessageInvoker
	by    actor.Dispatcher
	again func() // m.work, made once

	mu        sync.Mutex
	system    fifo[any] // goes first
	user      fifo[any]
	running   bool                  // somebody works on it, or will
	envelope  actor.MessageEnvelope // of the message in hand, if it came without one
	suspended bool                  // the actor has failed, and its parent has not decided
}

// Mailbox is the mailbox of one actor, for its Props.
func (l *Line) Mailbox() actor.Mailbox {
	m := &mailbox{apart: &l.Apart}
	m.again = m.work
	return m
}

// RegisterHandlers implements actor.Mailbox.
func (m *mailbox) RegisterHandlers(to actor.MessageInvoker, by actor.Dispatcher) { m.to, m.by = to, by }

// Start implements actor.Mailbox.
func (m *mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(message any) { m.post(&m.user, message) }

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(message any) { m.post(&m.system, message) }

func (m *mailbox) post(to *fifo[any], message any) {
	m.mu.Lock()
	to.push(message)
	begin := !m.running && m.due()
	m.running = m.running || begin
	m.mu.Unlock()
	if begin {
		m.by.Schedule(m.again)
	}
}

// due says whether there is something to do. Called with mu.
func (m *mailbox) due() bool { return m.system.len() > 0 || m.user.len() > 0 && !m.suspended }

// inARow is how many messages of one actor are taken in a row. It keeps nobody
// longer than a few of the library's changes of goroutine would.
const inARow = 64

// work takes messages, and leaves what is more to a worker.
func (m *mailbox) work() {
	for range inARow {
		message, system, ok := m.next()
		switch {
		case !ok:
			return
		case system:
			m.invoke(message, m.to.InvokeSystemMessage)
		default:
			m.invoke(message, m.receive)
		}
	}
	m.apart.Schedule(m.again)
}

// next is what is to be done next; not ok: nothing, and nobody is at it any more.
func (m *mailbox) next() (message any, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		message = m.system.pop()
		switch message.(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return message, true, true
		}
	}
	if !m.due() {
		m.running = false
		return nil, false, false
	}
	return m.user.pop(), false, true
}

// receive spares the library an envelope for each message that has no sender. It is
// the actor's while it receives: one that passes a message on must send it anew.
func (m *mailbox) receive(message any) {
	if _, has := message.(*actor.MessageEnvelope); has {
		m.to.InvokeUserMessage(message)
		return
	}
	m.envelope.Message = message
	m.to.InvokeUserMessage(&m.envelope)
	m.envelope.Message = nil
}

// invoke hands a message to the actor. One that fails is its parent's to decide on.
func (m *mailbox) invoke(message any, handle func(any)) {
	defer func() {
		if reason := recover(); reason != nil {
			m.to.EscalateFailure(reason, message)
		}
	}()
	handle(message)
}
