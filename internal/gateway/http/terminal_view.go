package http

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// terminalView is the state of an attachment whose client's terminal answers queries in
// the output (docs/decisions/024). Only the output goroutine uses it.
type terminalView struct {
	by     string // the claim's id; "": the client's terminal does not answer
	taken  bool
	offset int64 // the byte up to which the client got output while it answers
}

// leaveFor bounds the request that releases a terminal.
const leaveFor = 5 * time.Second

func newShown(terminal bool) terminalView {
	if !terminal {
		return terminalView{}
	}
	return terminalView{by: ulid.Make().String()}
}

// mayAnswer tells the client, before the bytes [from, to), whether its terminal answers
// the queries in them. It does while the client holds the lease.
func (a *attachment) mayAnswer(ctx context.Context, from, to int64) error {
	if a.shown.by == "" {
		return nil
	}
	held, before := a.shows(a, to)
	switch {
	case held && !a.shown.taken:
		reply, err := a.node.Ask(ctx, messages.ClaimTerminal{Job: messages.JobID(a.uid), By: a.shown.by})
		taken, ok := reply.(messages.TerminalClaimed)
		if err != nil || !ok { // the job has no terminal, or no longer needs one
			a.shown.by = ""
			return nil
		}
		a.shown.taken = true
		if err := a.say(ctx, api.AttachEvent{Kind: api.AttachAnswers, Held: true, Offset: max(taken.Answered, before)}); err != nil {
			return err
		}
	case !held && a.shown.taken:
		a.leaveTerminal(ctx)
		return a.say(ctx, api.AttachEvent{Kind: api.AttachAnswers, Offset: from})
	}
	if a.shown.taken {
		a.shown.offset = to
	}
	return nil
}

// shows reports whether an attachment holds the lease and so answers output up to a
// byte. It also returns the byte up to which earlier holders answered.
func (s *Server) shows(a *attachment, to int64) (held bool, before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[a.uid]
	if l.holder != a {
		return false, 0
	}
	before = l.viewedUpTo
	l.viewedUpTo = max(l.viewedUpTo, to)
	return true, before
}

// leaveTerminal makes the node answer queries again, after the bytes that the client
// got.
func (a *attachment) leaveTerminal(ctx context.Context) {
	if !a.shown.taken {
		return
	}
	a.shown.taken = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveFor)
	defer cancel()
	_, _ = a.node.Ask(ctx, messages.ReleaseTerminal{Job: messages.JobID(a.uid), By: a.shown.by, Through: a.shown.offset}) // a node that shuts down answers no queries
}
