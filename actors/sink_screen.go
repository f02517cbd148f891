package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// screenDrawn is the screen for a request.
type screenDrawn struct {
	noDeadLetter
	by     *sink
	number int
	text   messages.ScreenText
	err    *messages.Error
}

// terminalSized carries the sizes that the terminal has had.
type terminalSized struct {
	noDeadLetter
	sizes []backends.SizeChange
}

// drawing is a request whose screen is being drawn.
type drawing struct {
	pending
	number int
}

// screen requests the screen of the job. Drawing may take a second; the sink does not wait.
func (s *sink) screen(ctx actor.Context, p pending) {
	switch {
	case s.terminal.ID == "":
		s.refuse(ctx, p, noTerminal(s.job))
		return
	case s.deps.Screens == nil:
		s.refuse(ctx, p, &messages.Error{
			Code: messages.Unsupported, Reason: "screen", Message: "this node draws no screens", Hint: "read the output of the job instead",
		})
		return
	case len(s.drawings) >= maxWaiting:
		s.refuse(ctx, p, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "waiting", Message: "too many requests wait for the screen of this job", Hint: "ask again",
		})
		return
	}
	s.drawn++
	number, root, self := s.drawn, ctx.ActorSystem().Root, ctx.Self()
	s.drawings = append(s.drawings, drawing{pending: p, number: number})
	s.deps.Screens.Show(s.terminal, func(text messages.ScreenText, err *messages.Error) {
		if reachable(root, self) { // else abandon has answered
			root.Send(self, screenDrawn{by: s, number: number, text: text, err: err})
		}
	})
}

// show answers a request with its screen.
func (s *sink) show(ctx actor.Context, m screenDrawn) {
	i := slices.IndexFunc(s.drawings, func(d drawing) bool { return d.number == m.number })
	if m.by != s || i < 0 {
		return // requested by a former actor, which has answered
	}
	p := s.drawings[i].pending
	s.drawings = slices.Delete(s.drawings, i, i+1)
	if m.err != nil {
		s.refuse(ctx, p, m.err)
	} else {
		m.text.Job = s.job
		s.tell(ctx, p.sender, m.text)
	}
	s.answerFlush(ctx)
}
