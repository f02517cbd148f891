package keeper

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// link is one side of the numbered, resumable connection of daemon and keeper. It keeps
// messages until they are acknowledged, over one connection after another. Only its own
// goroutine waits for the other side, while the socket is full.
type link struct {
	limit       int          // kept messages
	most        int          // kept bytes; 0: unlimited
	syncJournal func() error // syncs the journal before a safe message
	overflow    func()       // called after the kept messages were dropped and a resync was queued
	onlyEnd     bool         // of a client of another protocol: it may only ask for askClose

	mu          sync.Mutex
	conn        *conn // nil: none
	queue       []message
	queuedBytes int    // bytes of queue
	first       uint64 // number of queue[0]
	next        uint64 // number of the message to send next
	received    uint64 // number of the last message received
	acked       uint64 // number last acknowledged
	ackNow      bool   // acknowledge as soon as possible
	sending     bool   // a goroutine sends
	buf         []byte
	flushWait   chan struct{} // see flushed
}

// ackEvery is how many messages one side receives before it acknowledges.
const ackEvery = 256

func newLink(limit int) *link {
	return &link{limit: limit, first: 1, next: 1, syncJournal: func() error { return nil }, overflow: func() {}}
}

// send queues messages, and sends them if the socket has room. It returns false if
// there is no place: all kept messages are dropped then, and a sayResync replaces them.
func (l *link) send(ms ...message) bool { return l.enqueue(0, ms...) }

// sendLater queues messages that wait for the next send, or for maxLater of their kind.
// The heartbeat bounds the wait.
func (l *link) sendLater(ms ...message) bool { return l.enqueue(maxLater, ms...) }

// maxLater bounds the messages that wait for others.
const maxLater = 32

// enqueue does the work of send, and leaves up to later messages unsent.
func (l *link) enqueue(later int, ms ...message) bool {
	l.mu.Lock()
	if l.isTooMuch(ms) {
		l.drop()
		l.keep(message{kind: sayResync})
		l.push()
		l.overflow()
		return false
	}
	l.keep(ms...)
	if later > 0 && l.first+uint64(len(l.queue))-l.next <= uint64(later) {
		l.mu.Unlock()
		return true
	}
	l.push()
	return true
}

// isTooMuch reports whether there is no place for messages. The caller holds mu.
func (l *link) isTooMuch(ms []message) bool {
	held := l.queuedBytes
	for i := range ms {
		held += ms[i].size()
	}
	return len(l.queue)+len(ms) > l.limit || l.most > 0 && held > l.most
}

// keep queues messages. The caller holds mu.
func (l *link) keep(ms ...message) {
	for i := range ms {
		if ms[i].size()+frameHead > maxFrame { // the other side would refuse it each time
			err := refused(messages.Internal, "frame", "the message is too large for a frame", "this is a bug in troupe: report it")
			ms[i] = message{kind: sayRefused, gen: ms[i].gen, job: ms[i].job, body: encode(err)}
		}
		l.queuedBytes += ms[i].size()
	}
	l.queue = append(l.queue, ms...)
}

// drop drops the kept messages. The caller holds mu.
func (l *link) drop() {
	l.first += uint64(len(l.queue))
	l.queuedBytes = 0
	l.next, l.queue = l.first, nil // finalizers close the files: one may be in use
}

// lastQueued returns the number of the message queued last.
func (l *link) lastQueued() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + uint64(len(l.queue)) - 1
}

// lastReceived returns the number of the last message received.
func (l *link) lastReceived() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received
}

// maybeSent reports whether a message may have been sent.
func (l *link) maybeSent(n uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return n < l.next
}

// attach continues over another connection; the other side has received up to heard.
func (l *link) attach(c *conn, heard uint64) {
	l.mu.Lock()
	l.conn = c
	l.trim(heard)
	l.next = l.first
	l.push()
}

// detach ends the use of a connection.
func (l *link) detach(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c {
		l.conn = nil
	}
	l.signalFlushed()
}

// abandon drops what is queued for a client that another has replaced. It closes the
// files: a keeper with little to do collects no garbage for minutes.
func (l *link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
	l.trim(l.first + uint64(len(l.queue)))
}

// signalFlushed closes flushWait: all is received, or there is no connection. The
// caller holds mu.
func (l *link) signalFlushed() {
	if l.flushWait != nil {
		close(l.flushWait)
		l.flushWait = nil
	}
}

// trim drops the messages that the other side has. The caller holds mu.
func (l *link) trim(ack uint64) {
	for len(l.queue) > 0 && l.first <= ack {
		if f := l.queue[0].file; f != nil {
			_ = f.Close()
		}
		l.queuedBytes -= l.queue[0].size()
		l.queue[0] = message{}
		l.queue = l.queue[1:]
		l.first++
	}
	l.next = max(l.next, l.first)
	if len(l.queue) == 0 {
		l.queue = nil
		l.signalFlushed()
	}
}

// flushed returns a channel that closes when the other side has everything, or is gone.
func (l *link) flushed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flushWait == nil {
		l.flushWait = make(chan struct{})
	}
	quiet := l.flushWait
	if len(l.queue) == 0 || l.conn == nil {
		l.signalFlushed()
	}
	return quiet
}

// take handles a frame of the other side, and returns its new messages.
func (l *link) take(f frame) ([]message, error) {
	l.mu.Lock()
	if f.ack >= l.first+uint64(len(l.queue)) {
		l.mu.Unlock()
		return nil, malformed("it acknowledges what was never sent")
	}
	l.trim(f.ack)
	if len(f.parts) > 0 && f.first > l.received+1 && f.parts[0].kind != sayResync {
		l.mu.Unlock()
		return nil, malformed("messages are missing")
	}
	known := 0
	if f.first <= l.received {
		known = int(min(l.received-f.first+1, uint64(len(f.parts))))
	}
	for _, m := range f.parts[:known] {
		closeFile(m.file)
	}
	fresh := f.parts[known:]
	if len(fresh) > 0 {
		l.received = f.first + uint64(len(f.parts)) - 1
	}
	l.push()
	return fresh, nil
}

// ack acknowledges the received messages.
func (l *link) ack() {
	l.mu.Lock()
	l.ackNow = true
	l.push()
}

// push sends what can be sent at once. The caller holds mu, which push releases.
func (l *link) push() {
	defer l.mu.Unlock()
	if l.sending {
		return
	}
	l.sending = true
	for l.conn != nil && l.due() {
		c := l.conn
		safe, file, through := l.compose()
		if safe {
			go l.wait(c)
			return
		}
		p, told := l.buf, l.received
		l.mu.Unlock()
		err := c.trySend(p, file)
		l.mu.Lock()
		if err == unix.EAGAIN {
			go l.wait(c)
			return
		}
		l.sent(c, through, told, err)
	}
	l.sending = false
}

// wait sends one frame, and waits for a full socket or the disk.
func (l *link) wait(c *conn) {
	l.mu.Lock()
	safe, file, through := l.compose()
	p, told := l.buf, l.received
	l.mu.Unlock()
	var err error
	if safe {
		_ = l.syncJournal() // after an error the fact is sent anyway: it is true
	}
	err = c.send(p, file, true)
	l.mu.Lock()
	l.sent(c, through, told, err)
	l.sending = false
	l.push()
}

// sent handles the result of sending a frame. The caller holds mu.
func (l *link) sent(c *conn, through, told uint64, err error) {
	switch {
	case l.conn != c:
	case err != nil:
		l.conn = nil
		c.close() // the receiving goroutine sees the end
	default:
		l.next, l.acked = max(l.next, through), max(l.acked, told)
		l.ackNow = l.ackNow && l.acked < l.received
	}
}

// due reports whether there is something to send. The caller holds mu.
func (l *link) due() bool {
	return l.next < l.first+uint64(len(l.queue)) || l.received-l.acked >= ackEvery || l.ackNow && l.received > l.acked
}

// compose puts the next messages into buf: as many as a frame takes; one with a
// descriptor goes alone. The sending goroutine calls it with mu held.
func (l *link) compose() (safe bool, file *os.File, through uint64) {
	l.buf = appendHead(l.buf[:0], l.next, l.received)
	through = l.next
	for i := int(l.next - l.first); i < len(l.queue); i++ {
		m := &l.queue[i]
		alone := m.file != nil
		if i > int(l.next-l.first) && (alone || len(l.buf)+m.size() > maxFrame) {
			break
		}
		l.buf = appendPart(l.buf, m)
		safe = safe || m.safe
		through++
		if alone {
			return safe, m.file, through
		}
	}
	return safe, nil, through
}
