package workers

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Mailbox holds the messages of one actor. The mailbox of the library runs in one goroutine
// until it is empty, so others that send could keep a sender that runs it. This one hands
// over to a worker after inARow messages. The library's also drops the messages of a
// stopped actor; see Close.
type Mailbox struct {
	line  *RunQueue
	to    actor.MessageInvoker
	by    actor.Dispatcher
	again func() // m.work, allocated once

	mu        sync.Mutex
	system    *fifo[any] // handled before user; nil: empty
	user      fifo[any]
	lost      func(message any) // receives the messages of a stopped actor; nil: not stopped
	running   bool              // work runs or is scheduled
	suspended bool              // the actor crashed and its parent has not decided yet
}

// NewMailbox returns the mailbox of one actor, for its Props.
func (l *RunQueue) NewMailbox() *Mailbox {
	m := &Mailbox{line: l}
	m.again = m.work
	return m
}

// Close passes queued and later messages to lost. An actor calls it when it stops.
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

// due reports whether a message can be handled. The caller holds mu.
func (m *Mailbox) due() bool { return m.system != nil || m.user.len() > 0 && !m.suspended }

// inARow bounds the messages that one actor handles in a row. That takes about as long as a
// few changes of goroutine.
const inARow = 64

// work handles up to inARow messages and leaves the rest to a worker.
func (m *Mailbox) work() {
	for range inARow {
		message, taker := m.next()
		if taker == none {
			return
		}
		m.invoke(message, taker)
	}
	m.line.Apart.Schedule(m.again)
}

// consumer is the receiver of a message.
type consumer uint8

const (
	none      consumer = iota // there is no message
	library                   // the actor system
	owner                     // the actor
	afterStop                 // lost: the actor has stopped
)

// next removes and returns the next message with its receiver. It ends the run if there is
// none.
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
			m.suspended = m.lost == nil // the actor may have stopped after its crash
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return message, library
		}
	}
	switch {
	case !m.due():
		m.running = false
		return nil, none
	case m.lost != nil:
		return m.user.pop(), afterStop
	}
	return m.user.pop(), owner
}

// receive puts a message without a sender into a pooled envelope, which saves an allocation.
// The actor must not keep the envelope after it has handled the message.
func (m *Mailbox) receive(message any) {
	if _, has := message.(*actor.MessageEnvelope); has {
		m.to.InvokeUserMessage(message)
		return
	}
	envelope := m.line.envelope()
	envelope.Message = message
	m.to.InvokeUserMessage(envelope) // a crash keeps the envelope for its report
	envelope.Message = nil
	m.line.envelopes.Put(envelope)
}

// invoke passes a message to its receiver and reports a panic to the actor's parent.
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
