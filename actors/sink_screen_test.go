package actors

import (
	"testing"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// painters draw when the test lets them.
type painters struct {
	of   []backends.Terminal
	told []func(messages.ScreenText, *messages.Error)
}

func (p *painters) Show(t backends.Terminal, told func(messages.ScreenText, *messages.Error)) {
	p.of, p.told = append(p.of, t), append(p.told, told)
}

func (p *painters) Answer(backends.Terminal, int64, func(backends.QueryReplies, *messages.Error)) {}

// withScreen has a sink of a job on a terminal.
func withScreen(t *testing.T, play func(s *stage, c *scribe, p *painters)) {
	t.Helper()
	withSink(t, func(s *stage, c *scribe) {
		p := &painters{}
		s.deps.Screens = p
		out := c.outputs()
		out.terminal = backends.Terminal{ID: "01J", Sizes: []backends.SizeChange{{Size: messages.Terminal{Rows: 2, Cols: 9}}}, Log: func() (spill.Log, error) { return nil, spill.ErrNotFound }}
		s.tell(out)
		play(s, c, p)
	})
}

// Nobody waits for a screen to be drawn but who has asked, and he gets his own.
func TestSinkShowsScreens(t *testing.T) {
	withScreen(t, func(s *stage, c *scribe, p *painters) {
		one, two := s.client(), s.client()
		one.ask(messages.ReadScreen{Job: "j1"})
		two.ask(messages.ReadScreen{Job: "j1"})
		c.write(messages.Merged, "text")
		two.ask(read(messages.ViewTail))
		if page := two.page(); page.Text != "text" {
			t.Errorf("got %+v while screens are drawn", page)
		}
		s.tell(terminalSized{sizes: []backends.SizeChange{{Size: messages.Terminal{Rows: 2, Cols: 9}}, {From: 4, Size: messages.Terminal{Rows: 3, Cols: 9}}}})
		one.ask(messages.ReadScreen{Job: "j1"})
		s.settle()
		if len(p.of) != 3 || len(p.of[0].Sizes) != 1 || len(p.of[2].Sizes) != 2 {
			t.Fatalf("got %+v", p.of)
		}
		p.told[1](messages.ScreenText{Cursor: messages.Cursor{Row: 2}}, nil)
		p.told[0](messages.ScreenText{Cursor: messages.Cursor{Row: 1}}, nil)
		p.told[2](messages.ScreenText{}, &messages.Error{Code: messages.OutputUnavailable, Message: "no"})
		s.settle()
		same(t, two.take(), messages.ScreenText{Job: "j1", Cursor: messages.Cursor{Row: 2}})
		got := one.take()
		same(t, got[:1], messages.ScreenText{Job: "j1", Cursor: messages.Cursor{Row: 1}})
		refusedWith(t, got[1:], messages.OutputUnavailable)
	})
}

// Who waits for a screen is answered when its reader fails, once; and a reader that is
// to go waits for what is drawn.
func TestSinkLeavesNobodyWithoutAScreen(t *testing.T) {
	withScreen(t, func(s *stage, c *scribe, p *painters) {
		reader := s.client()
		reader.ask(messages.ReadScreen{Job: "j1"})
		s.tell(poison{})
		s.settle()
		refusedWith(t, reader.take(), messages.OutputUnavailable)
		p.told[0](messages.ScreenText{}, nil)
		s.settle()
		same(t, reader.take())
	})
	withScreen(t, func(s *stage, c *scribe, p *painters) {
		reader, command := s.client(), s.client()
		reader.ask(messages.ReadScreen{Job: "j1"})
		c.end(s.kid)
		command.ask(flushSink{})
		same(t, command.take())
		p.told[0](messages.ScreenText{Cursor: messages.Cursor{Row: 1}}, nil)
		s.settle()
		same(t, reader.take(), messages.ScreenText{Job: "j1", Cursor: messages.Cursor{Row: 1}})
		same(t, command.take(), flushed{})
	})
}

func TestBadInputSinkBoundsScreens(t *testing.T) {
	withScreen(t, func(s *stage, _ *scribe, p *painters) {
		reader := s.client()
		for range maxWaiting + 1 {
			reader.ask(messages.ReadScreen{Job: "j1"})
		}
		refusedWith(t, reader.take(), messages.ResourceExhausted)
		for _, told := range p.told {
			told(messages.ScreenText{}, nil)
		}
		s.settle()
		if got := len(reader.take()); got != maxWaiting {
			t.Errorf("%d screens, want %d", got, maxWaiting)
		}
	})
}
