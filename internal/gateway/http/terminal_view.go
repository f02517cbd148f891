package http

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// terminalView is what an attachment knows whose client shows the job on a terminal that
// answers what is asked of it (docs/decisions/024). Only the output's goroutine uses it.
type terminalView struct {
	by     string // "": it does not, or nobody asks
	taken  bool
	offset int64 // the byte up to which it was sent what it answers
}

// releaseScope is how long it may take to say that a client is gone.
const leaveFor = 5 * time.Second

func newShown(terminal bool) terminalView {
	if !terminal {
		return terminalView{}
	}
	return terminalView{by: ulid.Make().String()}
}

// mayAnswer sees to it that the client knows, before it is sent the bytes [from, to),
// whether its terminal answers what is asked in them: while it holds the lease.
func (a *attachment) mayAnswer(ctx context.Context, from, to int64) error {
	if a.shown.by == "" {
		return nil
	}
	held, before := a.shows(a, to)
	switch {
	case held && !a.shown.taken:
		reply, err := a.node.Ask(ctx, messages.ClaimTerminal{Job: messages.JobID(a.uid), By: a.shown.by})
		taken, ok := reply.(messages.TerminalClaimed)
		if err != nil || !ok { // it has no terminal, or needs none any more
			a.shown.by = ""
			return nil
		}
		a.shown.taken = true
		if err := a.say(ctx, wire.AttachEvent{Kind: wire.AttachAnswers, Held: true, Offset: max(taken.Answered, before)}); err != nil {
			return err
		}
	case !held && a.shown.taken:
		a.leaveTerminal(ctx)
		return a.say(ctx, wire.AttachEvent{Kind: wire.AttachAnswers, Offset: from})
	}
	if a.shown.taken {
		a.shown.offset = to
	}
	return nil
}

// shows reports whether an attachment answers what is sent to it up to a byte, and up
// to where those before it did.
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

// leaveTerminal has the node answer again, behind what the client was sent.
func (a *attachment) leaveTerminal(ctx context.Context) {
	if !a.shown.taken {
		return
	}
	a.shown.taken = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveFor)
	defer cancel()
	_, _ = a.node.Ask(ctx, messages.ReleaseTerminal{Job: messages.JobID(a.uid), By: a.shown.by, Through: a.shown.offset}) // a node that ends has nobody who answers
}
