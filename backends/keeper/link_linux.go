package keeper

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// link is what one side says to the other: numbered messages, kept until they
// are acknowledged, over one connection after another. Nothing here waits for
// the other side but a goroutine of the line's own, and that only while the
// socket is full.
type link struct {
	limit       int          // messages that are kept
	most        int          // and bytes of them; 0: as many as they have
	syncJournal func() error // puts on disk what a safe message says
	overflow    func()       // what was kept is dropped, and the other side told: what now?

	mu          sync.Mutex
	conn        *conn // nil: there is none
	queue       []message
	queuedBytes int    // bytes of queue
	first       uint64 // number of queue[0]
	next        uint64 // of the one that is sent next
	received    uint64 // of the last that came from the other side
	acked       uint64 // what of it was told
	ackNow      bool   // it is to be told now
	sending     bool   // somebody sends
	buf         []byte
	flushWait   chan struct{} // see flushed
}

// ackEvery is how many messages one side may receive without saying so.
const ackEvery = 256

func newLine(limit int) *link {
	return &link{limit: limit, first: 1, next: 1, syncJournal: func() error { return nil }, overflow: func() {}}
}

// send queues messages, and sends them if the socket has room. It reports false
// if they found no place, and so were dropped with all that waited: the other side
// hears of that in their place, by a sayResync.
func (l *link) send(ms ...message) bool { return l.enqueue(0, ms...) }

// sendLater queues messages that may wait for the next that may not, or for so many
// of their kind: a client's heartbeat is never far.
func (l *link) sendLater(ms ...message) bool { return l.enqueue(maxLater, ms...) }

// maxLater is how many messages wait to be sent with others.
const maxLater = 32

// enqueue is send, which leaves up to so many messages for later.
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

// isTooMuch reports whether there is no place for messages. Called with mu.
func (l *link) isTooMuch(ms []message) bool {
	held := l.queuedBytes
	for i := range ms {
		held += ms[i].size()
	}
	return len(l.queue)+len(ms) > l.limit || l.most > 0 && held > l.most
}

// keep queues messages. Called with mu.
func (l *link) keep(ms ...message) {
	for i := range ms {
		if ms[i].size()+frameHead > maxFrame { // the other side would refuse it each time that it comes
			err := refused(messages.Internal, "frame", "what was asked for is too large for a frame", "this is a fault of troupe's: tell of it")
			ms[i] = message{kind: sayRefused, gen: ms[i].gen, job: ms[i].job, body: encode(err)}
		}
		l.queuedBytes += ms[i].size()
	}
	l.queue = append(l.queue, ms...)
}

// drop forgets what is kept. Called with mu.
func (l *link) drop() {
	l.first += uint64(len(l.queue))
	l.queuedBytes = 0
	l.next, l.queue = l.first, nil // files are closed by their finalizers: one may be on its way
}

// lastQueued is the number of the message queued last.
func (l *link) lastQueued() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + uint64(len(l.queue)) - 1
}

// lastReceived is the number of the last message received.
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

// attach goes on over another connection; the other side has heard up to the
// number heard.
func (l *link) attach(c *conn, heard uint64) {
	l.mu.Lock()
	l.conn = c
	l.trim(heard)
	l.next = l.first
	l.push()
}

// detach says that a connection is gone.
func (l *link) detach(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c {
		l.conn = nil
	}
	l.signalFlushed()
}

// signalFlushed tells who waits for it that nothing is left to say, or nobody to hear it.
// Called with mu.
func (l *link) signalFlushed() {
	if l.flushWait != nil {
		close(l.flushWait)
		l.flushWait = nil
	}
}

// trim forgets what the other side has. Called with mu.
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

// flushed is closed when the other side has everything, or is gone.
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

// take counts a frame of the other side, and gives what of it is new.
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

// ack tells the other side what was received.
func (l *link) ack() {
	l.mu.Lock()
	l.ackNow = true
	l.push()
}

// push sends what can be sent at once. Called with mu, which it gives back.
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

// wait sends one frame over a socket that is full, or that waits for a disk.
func (l *link) wait(c *conn) {
	l.mu.Lock()
	safe, file, through := l.compose()
	p, told := l.buf, l.received
	l.mu.Unlock()
	var err error
	if safe {
		_ = l.syncJournal() // what the disk refuses is told all the same: the fact is true
	}
	err = c.send(p, file, true)
	l.mu.Lock()
	l.sent(c, through, told, err)
	l.sending = false
	l.push()
}

// sent notes what became of a frame. Called with mu.
func (l *link) sent(c *conn, through, told uint64, err error) {
	switch {
	case l.conn != c:
	case err != nil:
		l.conn = nil
		c.close() // who receives over it sees the end
	default:
		l.next, l.acked = max(l.next, through), max(l.acked, told)
		l.ackNow = l.ackNow && l.acked < l.received
	}
}

// due reports whether there is something to say. Called with mu.
func (l *link) due() bool {
	return l.next < l.first+uint64(len(l.queue)) || l.received-l.acked >= ackEvery || l.ackNow && l.received > l.acked
}

// compose puts what comes next into buf: as many messages as a frame takes, one
// with a body in a descriptor alone. Called with mu by who is busy.
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
