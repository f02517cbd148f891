package workers

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Mailbox is what waits for one actor. The library's own is worked on until it is
// empty: whoever sends something to an actor that runs inline, or helps at the
// line, would be kept for as long as others send. This one lets them go. And the
// library's drops what waits for an actor that has stopped: see Close.
type Mailbox struct {
	line  *RunQueue
	to    actor.MessageInvoker
	by    actor.Dispatcher
	again func() // m.work, made once

	mu        sync.Mutex
	system    *fifo[any] // goes first; nil: nothing waits there, as mostly
	user      fifo[any]
	lost      func(message any) // takes the messages of an actor that has stopped
	running   bool              // somebody works on it, or will
	suspended bool              // the actor has failed, and its parent has not decided
}

// NewMailbox makes the mailbox of one actor, for its Props.
func (l *RunQueue) NewMailbox() *Mailbox {
	m := &Mailbox{line: l}
	m.again = m.work
	return m
}

// Close has lost take what waits, and what still comes, instead of the actor: it
// has stopped. It is for the actor itself to call.
func (m *Mailbox) Close(lost func(message any)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost, m.suspended = lost, false
}

// RegisterHandlers implements actor.Mailbox.
func (m *Mailbox) RegisterHandlers(to actor.MessageInvoker, by actor.Dispatcher) { m.to, m.by = to, by }

// Start implements actor.Mailbox.
func (m *Mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *Mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// PostUserMessage implements actor.Mailbox.
func (m *Mailbox) PostUserMessage(message any) { m.post(message, false) }

// PostSystemMessage implements actor.Mailbox.
func (m *Mailbox) PostSystemMessage(message any) { m.post(message, true) }

func (m *Mailbox) post(message any, system bool) {
	m.mu.Lock()
	to := &m.user
	if system {
		if m.system == nil {
			m.system = new(fifo[any])
		}
		to = m.system
	}
	to.push(message)
	begin := !m.running && m.due()
	m.running = m.running || begin
	m.mu.Unlock()
	if begin {
		m.by.Schedule(m.again)
	}
}

// due says whether there is something to do. Called with mu.
func (m *Mailbox) due() bool { return m.system != nil || m.user.len() > 0 && !m.suspended }

// inARow is how many messages of one actor are taken in a row. It keeps nobody
// longer than a few of the library's changes of goroutine would.
const inARow = 64

// work takes messages, and leaves what is more to a worker.
func (m *Mailbox) work() {
	for range inARow {
		message, taker := m.next()
		if taker == nobody {
			return
		}
		m.invoke(message, taker)
	}
	m.line.Apart.Schedule(m.again)
}

// consumer is who a message is for.
type consumer uint8

const (
	nobody    consumer = iota
	library            // it is the actor system's own
	owner              // the actor
	afterStop          // it comes too late
)

// next is what is to be done next, and who does it; nobody: nothing, and nobody is
// at it any more.
func (m *Mailbox) next() (message any, by consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system != nil {
		message = m.system.pop()
		if m.system.len() == 0 {
			m.system = nil
		}
		switch message.(type) {
		case *actor.SuspendMailbox:
			m.suspended = m.lost == nil // it may have stopped since it failed
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return message, library
		}
	}
	switch {
	case !m.due():
		m.running = false
		return nil, nobody
	case m.lost != nil:
		return m.user.pop(), afterStop
	}
	return m.user.pop(), owner
}

// receive spares the library an envelope for each message that has no sender. It is
// the actor's while it receives: one that passes a message on must send it anew.
func (m *Mailbox) receive(message any) {
	if _, has := message.(*actor.MessageEnvelope); has {
		m.to.InvokeUserMessage(message)
		return
	}
	envelope := m.line.envelope()
	envelope.Message = message
	m.to.InvokeUserMessage(envelope) // one that fails keeps it: it tells of what was in hand
	envelope.Message = nil
	m.line.envelopes.Put(envelope)
}

// invoke hands a message to the actor. One that fails is its parent's to decide on.
func (m *Mailbox) invoke(message any, by consumer) {
	defer func() {
		if reason := recover(); reason != nil {
			m.to.EscalateFailure(reason, message)
		}
	}()
	switch by {
	case library:
		m.to.InvokeSystemMessage(message)
	case owner:
		m.receive(message)
	case afterStop:
		m.lost(message)
	}
}
