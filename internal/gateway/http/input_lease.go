package http

import (
	"slices"

	"troupe/internal/api"
	"troupe/messages"
)

// inputLease is the right to write to a job's input. One attachment at a time has it. The
// server's lock guards it.
type inputLease struct {
	holder, requester *attachment
	waiting           []*attachment // refused or displaced attachments that still want to write, next first
	attached          int
	viewedUpTo        int64             // end of the output sent to holders whose terminals answer
	savedSize         messages.Terminal // size of the terminal before an attachment changed it
}

// join adds an attachment to its job.
func (s *Server) join(a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[a.uid] == nil {
		s.leases[a.uid] = &inputLease{}
	}
	s.leases[a.uid].attached++
}

// leave removes an attachment and passes its lease on.
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

// keepLease lets no client inherit the lease from an attachment that ends with the daemon. An
// heir without input would close that of the job, and one with input would go on from here.
func (s *Server) keepLease(a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leases[a.uid]; l != nil && l.holder == a {
		l.requester, l.waiting = nil, nil
	}
}

// holds reports whether an attachment may write.
func (s *Server) holds(a *attachment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[a.uid].holder == a
}

// change handles a request about the lease.
func (s *Server) change(a *attachment, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[a.uid]
	mine := l.holder == a
	switch {
	case kind == api.AttachAsk && l.holder != nil && !mine:
		if l.requester != nil && l.requester != a {
			l.refuse() // only one request is open at a time
		}
		l.forget(a)
		l.requester = a
		l.holder.notice(api.AttachEvent{Kind: api.AttachAsked})
	case kind == api.AttachAsk || kind == api.AttachTake:
		if l.holder != nil && !mine {
			l.holder.lease(false, api.LeaseTaken)
			l.waiting = slices.Insert(l.waiting, 0, l.holder)
		}
		l.forget(a)
		l.holder = a
		a.lease(true, api.LeaseGranted)
	case kind == api.AttachYield && mine:
		a.lease(false, api.LeaseYielded)
		l.pass()
	case kind == api.AttachRefuse && mine && l.requester != nil:
		l.refuse()
	}
}

// refuse tells the requester that the holder keeps the lease. The requester gets it
// when it is free.
func (l *inputLease) refuse() {
	l.requester.lease(false, api.LeaseRefused)
	l.waiting = append(l.waiting, l.requester)
	l.requester = nil
}

// forget removes an attachment from the requester and the waiting.
func (l *inputLease) forget(a *attachment) {
	if l.requester == a {
		l.requester = nil
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(one *attachment) bool { return one == a })
}

// pass gives the lease to the requester, or to the next one waiting, if any.
func (l *inputLease) pass() {
	l.holder, l.requester = l.requester, nil
	if l.holder == nil && len(l.waiting) > 0 {
		l.holder, l.waiting = l.waiting[0], l.waiting[1:]
	}
	if l.holder != nil {
		l.holder.lease(true, api.LeaseGranted)
		return
	}
	l.savedSize = messages.Terminal{}
}

// lease tells an attachment whether it holds the lease now.
func (a *attachment) lease(held bool, reason string) {
	a.notice(api.AttachEvent{Kind: api.AttachLease, Held: held, Reason: reason})
}

// noLease returns the error for input without the lease.
func (s *Server) noLease(a *attachment) *messages.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[a.uid].holder == nil {
		return &messages.Error{Code: messages.Refused, Reason: "lease", Message: "the input lease is free, and this attachment does not have it", Hint: "send ask or take"}
	}
	return &messages.Error{Code: messages.Refused, Reason: "lease", Message: "another client has the input lease of the job", Hint: "troupe attach --take takes it; your own attachment sends ask or take"}
}
