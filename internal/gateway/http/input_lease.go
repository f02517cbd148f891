package http

import (
	"slices"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// lease is the right to write to a job's input: one of those attached has it.
// The server's lock guards it.
type lease struct {
	holder, requester *attachment
	waiting           []*attachment // those who would write, too, and were refused or had it taken
	attached          int
	viewedUpTo        int64             // what was sent to holders whose terminals answer
	savedSize         messages.Terminal // the size of the terminal before one of them changed it
}

// join makes an attachment one of its job's.
func (s *Server) join(a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[a.uid] == nil {
		s.leases[a.uid] = &lease{}
	}
	s.leases[a.uid].attached++
}

// leave gives up what an attachment has.
func (s *Server) leave(a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[a.uid]
	l.forget(a)
	if l.holder == a {
		l.pass()
	}
	if l.attached--; l.attached == 0 {
		delete(s.leases, a.uid)
	}
}

// holds reports whether an attachment may write.
func (s *Server) holds(a *attachment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[a.uid].holder == a
}

// change does what an attachment asks about the lease.
func (s *Server) change(a *attachment, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[a.uid]
	mine := l.holder == a
	switch {
	case kind == wire.AttachAsk && l.holder != nil && !mine:
		if l.requester != nil && l.requester != a {
			l.refuse() // one asks at a time
		}
		l.forget(a)
		l.requester = a
		l.holder.notice(wire.AttachEvent{Kind: wire.AttachAsked})
	case kind == wire.AttachAsk || kind == wire.AttachTake:
		if l.holder != nil && !mine {
			l.holder.lease(false, wire.LeaseTaken)
			l.waiting = slices.Insert(l.waiting, 0, l.holder)
		}
		l.forget(a)
		l.holder = a
		a.lease(true, wire.LeaseGranted)
	case kind == wire.AttachYield && mine:
		a.lease(false, wire.LeaseYielded)
		l.pass()
	case kind == wire.AttachRefuse && mine && l.requester != nil:
		l.refuse()
	}
}

// refuse tells who asks that the holder keeps it. He has it when it is free.
func (l *lease) refuse() {
	l.requester.lease(false, wire.LeaseRefused)
	l.waiting = append(l.waiting, l.requester)
	l.requester = nil
}

// forget lets an attachment ask, or wait, no more.
func (l *lease) forget(a *attachment) {
	if l.requester == a {
		l.requester = nil
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(one *attachment) bool { return one == a })
}

// pass gives the lease to whoever asks for it, or has asked, or to nobody.
func (l *lease) pass() {
	l.holder, l.requester = l.requester, nil
	if l.holder == nil && len(l.waiting) > 0 {
		l.holder, l.waiting = l.waiting[0], l.waiting[1:]
	}
	if l.holder != nil {
		l.holder.lease(true, wire.LeaseGranted)
		return
	}
	l.savedSize = messages.Terminal{}
}

// lease tells an attachment what it may do now.
func (a *attachment) lease(held bool, reason string) {
	a.notice(wire.AttachEvent{Kind: wire.AttachLease, Held: held, Reason: reason})
}

// noLease is for input of one who only watches.
func (s *Server) noLease(a *attachment) *messages.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[a.uid].holder == nil {
		return &messages.Error{Code: messages.Refused, Reason: "lease", Message: "you only watch the job, and have not asked to write", Hint: "send ask or take"}
	}
	return &messages.Error{Code: messages.Refused, Reason: "lease", Message: "another one writes to the job; you watch", Hint: "troupe attach --take takes the input from them; an attachment of your own sends ask or take"}
}
