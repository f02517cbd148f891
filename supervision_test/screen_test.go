package supervision_test

import (
	"strings"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// onTerminal is a job on a small terminal.
var onTerminal = messages.RunCommand{Program: messages.Program{Text: "edit"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 3, Cols: 20}}}

// screen is what the terminal of a job shows.
func (h *house) screen(id messages.JobID) messages.ScreenText {
	h.Helper()
	return reply[messages.ScreenText](h.ask(messages.ReadScreen{Job: id}))
}

func (h *house) wantScreen(id messages.JobID, lines string) {
	h.Helper()
	want(h, "screen", strings.TrimRight(strings.Join(h.screen(id).Lines, "\n"), "\n"), lines)
}

func wantInput(h *house, p *fake.Process, input string) {
	h.Helper()
	h.after(time.Second)
	got, _ := p.Input()
	want(h, "input", got, input)
}

// The screen of a job is the same while it runs, past a failure of whoever reads it,
// past a restart, and when the job is over.
func TestScreenOfAJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, "\x1b[?1049h\x1b[Hone\r\n\x1b[31mtwo\x1b]0;title\x07")
		h.after(0)
		s := h.screen("j1")
		want(h, "size", s.Terminal, messages.Terminal{Rows: 3, Cols: 20})
		want(h, "cursor", [2]int{s.Row, s.Col}, [2]int{1, 3})
		want(h, "title", s.Title, "title")
		want(h, "alternate", s.Alternate, true)
		want(h, "drawn to", s.At, s.Bytes)
		h.wantScreen("j1", "one\ntwo")
		h.crash("sink")
		h.wantScreen("j1", "one\ntwo")
		h.crash("command")
		h.wantScreen("j1", "one\ntwo")
		h.again()
		h.wantScreen("j1", "one\ntwo")
		p.Exit(0)
		h.after(0)
		h.wantScreen("j1", "one\ntwo")
		h.again()
		h.wantScreen("j1", "one\ntwo")
		want(h, "size", h.screen("j1").Terminal, messages.Terminal{Rows: 3, Cols: 20})
	})
}

// A size holds from where it was set, past a restart, too, and is in the record.
func TestScreenIsResized(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, strings.Repeat("x", 25)+"\r\n")
		h.after(0)
		reply[messages.Acknowledged](h.ask(messages.ResizeTerminal{Job: "j1", Size: messages.Terminal{Rows: 4, Cols: 30}}))
		p.Write(messages.Merged, strings.Repeat("y", 25))
		h.after(0)
		h.wantScreen("j1", strings.Repeat("x", 20)+"\nxxxxx\n"+strings.Repeat("y", 25))
		want(h, "size in the record", h.job("j1").Terminal, messages.Terminal{Rows: 4, Cols: 30})
		h.again()
		want(h, "size", h.screen("j1").Terminal, messages.Terminal{Rows: 4, Cols: 30})
	})
}

// A client that sits down says how large its terminal is, whether or not that is news: only
// what is news takes the place of an older size.
func TestScreenRemembersSizesThatDiffer(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, strings.Repeat("x", 25)+"\r\n")
		h.after(0)
		sitDown := func() {
			reply[messages.Acknowledged](h.ask(messages.ResizeTerminal{Job: "j1", Size: messages.Terminal{Rows: 4, Cols: 30}}))
		}
		sitDown()
		p.Write(messages.Merged, strings.Repeat("y", 25))
		h.after(0)
		for range 20 {
			sitDown()
		}
		h.wantScreen("j1", strings.Repeat("x", 20)+"\nxxxxx\n"+strings.Repeat("y", 25))
	})
}

func TestBadInputScreenOfAJobWithoutATerminal(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "plain"}, Mode: messages.ModeAsync})
		for range 2 {
			e := reply[messages.RequestRejected](h.ask(messages.ReadScreen{Job: "j1"})).Err
			want(h, "code", e.Code, messages.Unsupported)
			want(h, "reason", e.Reason, "terminal")
			want(h, "hint", strings.Contains(e.Hint, "logs j1"), true)
			p.Exit(0)
			h.after(0)
		}
		want(h, "of nobody", reply[messages.RequestRejected](h.ask(messages.ReadScreen{Job: "j9"})).Err.Code, messages.NotFound)
		want(h, "taken", reply[messages.CommandRejected](h.ask(messages.ClaimTerminal{Job: "j1", By: "me"})).Err.Code, messages.JobFinished)
	})
}

// What is asked of a terminal that nobody shows has one answer, past crashes and
// restarts, too.
func TestScreenAnswersOnce(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, "text \x1b[6n")
		wantInput(h, p, "\x1b[1;6R")
		p.Write(messages.Merged, "more")
		wantInput(h, p, "\x1b[1;6R")
		h.again()
		wantInput(h, p, "\x1b[1;6R")
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "\x1b[1;6R\x1b[0n")
		for _, actor := range []string{"command", "session", "scope"} {
			h.crash(actor)
			wantInput(h, p, "\x1b[1;6R\x1b[0n")
		}
		p.Write(messages.Merged, "\x1b[6n")
		wantInput(h, p, "\x1b[1;6R\x1b[0n\x1b[1;10R")
		p.Exit(0)
	}, plan{})
}

// What was asked while no daemon was there is answered by the next one.
func TestScreenAnswersWhatWasAskedMeanwhile(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "\x1b[0n")
		h.die()
		p.Write(messages.Merged, "\x1b[6n")
		h.begin()
		wantInput(h, p, "\x1b[0n\x1b[1;1R")
	})
}

// While a client's own terminal answers, nobody else does: not what came meanwhile,
// and what comes when it has gone.
func TestScreenLeavesAnswersToTheClient(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "\x1b[0n")
		want(h, "answered", reply[messages.TerminalClaimed](h.ask(messages.ClaimTerminal{Job: "j1", By: "one"})).Answered, 4)
		p.Write(messages.Merged, "\x1b[6n")
		wantInput(h, p, "\x1b[0n")
		want(h, "taken over", reply[messages.TerminalClaimed](h.ask(messages.ClaimTerminal{Job: "j1", By: "two"})).Answered, 4)
		reply[messages.Acknowledged](h.ask(messages.ReleaseTerminal{Job: "j1", By: "one", Through: 4}))
		wantInput(h, p, "\x1b[0n")
		p.Write(messages.Merged, "\x1b[c") // not shown to the client any more
		reply[messages.Acknowledged](h.ask(messages.ReleaseTerminal{Job: "j1", By: "two", Through: 8}))
		wantInput(h, p, "\x1b[0n\x1b[?62;1;6;22c")
		h.again()
		wantInput(h, p, "\x1b[0n\x1b[?62;1;6;22c")
		want(h, "no name", reply[messages.CommandRejected](h.ask(messages.ClaimTerminal{Job: "j1"})).Err.Code, messages.InvalidParams)
	})
}

// A client may take the terminal of a job that has not begun: nothing is answered but
// by it.
func TestScreenIsTakenBeforeTheBegin(t *testing.T) {
	inHouse(t, func(h *house) {
		h.run(onTerminal)
		want(h, "answered", reply[messages.TerminalClaimed](h.ask(messages.ClaimTerminal{Job: "j1", By: "one"})).Answered, 0)
		p := h.proc("edit")
		p.Begin()
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "")
	})
}

// A run whose client shows it on a terminal is answered by that from the first byte,
// past a crash, too, until it is promoted.
func TestScreenIsShownByTheRun(t *testing.T) {
	inHouse(t, func(h *house) {
		r := onTerminal
		r.Mode, r.Shown = messages.ModeSync, true
		c, p := h.start(r)
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "")
		h.crash("command")
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "")
		h.ask(messages.PromoteCommand{Job: "j1"})
		reply[messages.CommandPromoted](c)
		wantInput(h, p, "")
		p.Write(messages.Merged, "\x1b[6n")
		wantInput(h, p, "\x1b[1;1R")
	})
}

// So is one that is promoted before it has begun: it is answered by nobody else.
func TestScreenOfARunThatIsPromotedInTheQueue(t *testing.T) {
	inHouse(t, func(h *house) {
		first, q := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		r := onTerminal
		r.Mode, r.Shown = messages.ModeSync, true
		c := h.run(r)
		h.ask(messages.PromoteCommand{Job: "j2"})
		reply[messages.CommandPromoted](c)
		q.Exit(0)
		finished(first)
		p := h.proc("edit")
		p.Begin()
		p.Write(messages.Merged, "\x1b[6n")
		wantInput(h, p, "\x1b[1;1R")
	}, plan{fake: serial})
}

// Who asks after a long silence is answered as well.
func TestScreenAnswersAfterASilence(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(onTerminal)
		p.Write(messages.Merged, "$ ")
		h.after(time.Hour)
		p.Write(messages.Merged, "\x1b[5n")
		wantInput(h, p, "\x1b[0n")
	})
}
