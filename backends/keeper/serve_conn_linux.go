package keeper

import (
	"errors"
	"io"
	"time"

	"troupe/messages"
)

// helloBound bounds the wait for a client's hello.
const helloBound = 5 * time.Second

// serve serves one connection until it ends.
func (s *server) serve(c *conn) {
	defer c.close()
	if err := c.ours(); err != nil {
		s.reject(c, err)
		return
	}
	l, err := s.handshake(c)
	if err != nil {
		s.reject(c, err)
		s.clientGone(c)
		return
	}
	defer s.connEnded(c, l)
	for {
		p, files, err := c.recv()
		if err != nil {
			if e := (*messages.Error)(nil); errors.As(err, &e) {
				s.reject(c, err)
			}
			return // otherwise the client has gone
		}
		f, err := parseFrame(p)
		if err == nil && len(files) > 0 && len(f.parts) == 1 {
			f.parts[0].file, files = files[0], files[1:]
			f.parts[0].lost = false
		}
		closeAll(files)
		mine := true
		if err == nil {
			mine, err = s.answerAll(c, l, f)
		}
		if err != nil {
			s.reject(c, err)
		}
		if err != nil || !mine {
			return
		}
	}
}

// answerAll handles a frame, unless another connection has replaced this one: its
// client sends the rest over that.
func (s *server) answerAll(c *conn, l *link, f frame) (mine bool, err error) {
	s.requestMu.Lock()
	defer s.requestMu.Unlock()
	s.mu.Lock()
	mine = s.link == l && s.conn == c
	s.mu.Unlock()
	if !mine {
		return false, nil
	}
	fresh, err := l.take(f)
	for _, m := range fresh {
		s.answer(l, m)
	}
	return true, err
}

// reject sends the error, and closes.
func (s *server) reject(c *conn, err error) {
	s.fault("", err)
	_ = c.trySend(appendJSON(frameError, asError(err)), nil)
}

// readHello reads a client's hello. It refuses a client of another protocol, unless that only
// ends this keeper.
func (s *server) readHello(c *conn) (h hello, err error) {
	c.setReadDeadline(time.Now().Add(helloBound))
	p, files, err := c.recv()
	closeAll(files)
	if err != nil {
		return h, err
	}
	c.setReadDeadline(time.Time{})
	if h, err = parseHello(p); err != nil {
		return h, err
	}
	switch mine := s.hello.Proto; {
	case h.Proto != mine && !h.End:
		return h, otherProtocol(h.Proto, mine)
	case h.Proto == mine && h.End:
		return h, errSameProtocol
	case h.Client == "" || len(h.Client) > maxID:
		return h, malformed("its hello names no client")
	}
	return h, nil
}

// handshake reads a client's hello, makes it the served client, and answers.
func (s *server) handshake(c *conn) (*link, error) {
	h, err := s.readHello(c)
	if err != nil {
		return nil, err
	}
	s.requestMu.Lock()
	defer s.requestMu.Unlock()
	if c.hungUp() { // while this keeper was stopped: a client that came since must not be replaced
		return nil, io.EOF
	}
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return nil, errEnding
	}
	former, l := s.conn, s.link
	s.conn, s.hadClient = c, true
	same := s.client == h.Client && l != nil
	if !same {
		if l != nil {
			defer l.abandon()
		}
		l = s.newLink()
		l.onlyEnd = h.End
		s.client, s.link = h.Client, l
	}
	s.mu.Unlock()
	if former != nil {
		if !same {
			_ = former.trySend(appendJSON(frameError, errReplaced), nil)
		}
		former.close()
	}
	if !same {
		s.unbind()
	}
	s.limit(h.Storage)
	me := s.hello
	me.Heard, me.Resumed = l.lastReceived(), same
	if err := c.trySend(appendJSON(frameHello, me), nil); err != nil {
		s.connEnded(c, l)
		return nil, err
	}
	l.attach(c, h.Heard)
	return l, nil
}

// errSameProtocol is sent to a client that would end a keeper of another protocol.
var errSameProtocol = refused(messages.Conflict, "protocol", "the keeper and its client speak one protocol", "connect to it")

// errEnding is sent to a client that comes too late.
var errEnding = refused(messages.ShuttingDown, "keeper", "the keeper is about to end", "try again: the next one will be started")

// errReplaced is sent to a client that another has replaced.
var errReplaced = refused(messages.Busy, "replaced", "another client has taken over the keeper", "only one serves its jobs at a time")

func (s *server) newLink() *link {
	l := newLink(maxFacts)
	l.syncJournal = s.journal.sync
	l.most = maxFactBytes
	return l
}

// connEnded handles the end of a connection. The client may come back; outputs that it
// paused resume.
func (s *server) connEnded(c *conn, l *link) {
	l.detach(c)
	s.clientGone(c)
	s.unpause()
}

// clientGone records that a connection serves no client any more.
func (s *server) clientGone(c *conn) {
	s.mu.Lock()
	if s.conn == c {
		s.conn = nil
	}
	s.mu.Unlock()
	s.maybeEnd()
	s.endIfUnreachable()
}

// unbind releases the bindings of the former client: it gets no more facts, and outputs
// that it paused resume.
func (s *server) unbind() {
	s.unpause()
	s.mu.Lock()
	var bound []*servedJob
	for _, c := range s.jobs {
		if c.proc != nil {
			bound = append(bound, &servedJob{proc: c.proc})
			c.proc = nil
		}
	}
	s.mu.Unlock()
	for _, c := range bound {
		c.proc.Release()
	}
}

// describeLog returns the state of a log for a client.
func (s *server) describeLog(id messages.UID, stream messages.Stream) (logState, bool) {
	log, err := s.store.Open(string(id), uint8(stream))
	if err != nil {
		return logState{}, false
	}
	defer log.Close()
	l := logState{Stream: stream, State: log.State()}
	if l.State.Closed && l.State.Size <= inlineLog && len(l.State.Gaps) == 0 { // gaps are not zeros
		l.Data = make([]byte, l.State.Size)
		n, _ := log.ReadAt(l.Data, 0)
		if l.State = log.State(); len(l.State.Gaps) > 0 { // the read found the file to be short
			l.Data = nil
		}
		l.Whole = int64(n) == l.State.Size && len(l.State.Gaps) == 0
	}
	return l, true
}

// factForwarder receives the facts of one binding from the engine, one by one, and
// queues them for the client.
type factForwarder struct {
	s    *server
	link *link
	id   messages.UID
	gen  uint64
	job  *servedJob
	all  bool // the result included the last facts
}

func (e *factForwarder) receive(f messages.ProcessFact) {
	k := factKind(f)
	if k == 0 || e.all && (k == factClosed || k == factEnded) {
		return // the client has it
	}
	if a, is := f.(messages.ControlAnswer); is && a.Answers() == unpauseNth {
		return // the client would match it to a control of its own
	}
	if e.job.left != nil {
		f = e.s.withOutput(e.id, e.job.left, f)
	}
	m := message{kind: k, gen: e.gen, job: e.id, safe: e.job.safely && k == factExited}
	m.body = encode(f)
	m, err := m.pack()
	if err != nil {
		e.s.fault(e.id, err)
		return
	}
	exited, _ := f.(messages.ProcessExited)
	if e.all = e.all || exited.Last > 0; k != factClosed && exited.Last == 0 {
		e.link.send(m)
		return
	}
	lm, err := (message{kind: sayLogs, gen: e.gen, job: e.id, body: encode(e.s.closedLogs(e.id, e.job))}).pack()
	if err != nil {
		e.link.send(m)
		return
	}
	e.link.send(lm, m)
}

// closedLogs returns the states of a job's closed logs.
func (s *server) closedLogs(id messages.UID, c *servedJob) []logState {
	streams := streamsOf(c.separate)
	var logs []logState
	for _, stream := range streams {
		if l, ok := s.describeLog(id, stream); ok && l.State.Closed {
			logs = append(logs, l)
		}
	}
	small := len(logs) == len(streams)
	for _, l := range logs {
		small = small && l.Whole
	}
	if small && (c.separate || logs[0].State.Size > 0) { // the output order of two streams, and the times of any
		if order, err := s.store.Order(string(id)); err == nil {
			data, err := order.Encoded()
			_ = order.Close()
			if err == nil && len(data) <= inlineLog && order.Whole() {
				logs = append(logs, logState{Order: true, Data: data})
			}
		}
	}
	return logs
}
