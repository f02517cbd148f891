package actors

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"troupe/messages"
	"troupe/spill"
)

func withSink(t *testing.T, play func(s *stage, c *scribe)) {
	t.Helper()
	onStage(t, func(s *stage) {
		c := s.scribe("j1", messages.Merged)
		s.react = c.serve
		s.raise(sinkProps(s.deps, "j1"), kindSink)
		play(s, c)
	})
}

// withEarlySink has a sink whose job has not started: its logs do not come.
func withEarlySink(t *testing.T, play func(s *stage, c *scribe)) {
	t.Helper()
	onStage(t, func(s *stage) {
		c := s.scribe("j1", messages.Merged)
		c.mute, s.react = true, c.serve
		s.raise(sinkProps(s.deps, "j1"), kindSink)
		play(s, c)
	})
}

func read(kind messages.ViewKind) messages.ReadOutput {
	return messages.ReadOutput{Job: "j1", View: messages.View{Kind: kind}}
}

func followFrom(from int64) messages.FollowOutput {
	return messages.FollowOutput{Job: "j1", From: from}
}

// page is the one page that a client got.
func (c *client) page() messages.OutputPage {
	c.s.t.Helper()
	got := c.take()
	if len(got) != 1 {
		c.s.t.Fatalf("got %s\nwant one page", listed(got))
	}
	page, ok := got[0].(messages.OutputPage)
	if !ok {
		c.s.t.Fatalf("got %s\nwant one page", listed(got))
	}
	return page
}

func TestSinkShowsViews(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		var text strings.Builder
		for i := 1; i <= 100; i++ {
			fmt.Fprintf(&text, "\x1b[1mline %d\x1b[0m\n", i)
		}
		c.write(messages.Merged, text.String())
		size := int64(text.Len())
		s.tell(c.outputs())
		reader := s.client()
		for _, v := range []struct {
			name  string
			view  messages.View
			check func(messages.OutputPage) bool
		}{
			{"tail", messages.View{Kind: messages.ViewTail, Bytes: 9}, func(p messages.OutputPage) bool {
				return strings.HasSuffix(p.Text, "100\n") && p.Truncated && p.To == size
			}},
			{"tail_line", messages.View{Kind: messages.ViewTailLine, Lines: 2}, func(p messages.OutputPage) bool {
				return p.Text == "line 99\nline 100\n" && p.Line == 99 && p.Lines == 100 && p.LinesExact
			}},
			{"head_tail", messages.View{Kind: messages.ViewHeadTail, Lines: 1}, func(p messages.OutputPage) bool {
				return strings.HasPrefix(p.Text, "line 1\n") && strings.HasSuffix(p.Text, "line 100\n") && strings.Contains(p.Text, "98 lines")
			}},
			{"page", messages.View{Kind: messages.ViewPage, Offset: 50, Lines: 2}, func(p messages.OutputPage) bool {
				return p.Text == "line 50\nline 51\n" && p.Line == 50 && p.Lines == 100
			}},
			{"a page behind the end", messages.View{Kind: messages.ViewPage, Offset: 500, Lines: 2}, func(p messages.OutputPage) bool {
				return p.Text == "" && p.Lines == 100
			}},
			{"range", messages.View{Kind: messages.ViewRange, Offset: 4, Bytes: 6}, func(p messages.OutputPage) bool {
				return string(p.Data) == "line 1" && p.From == 4 && p.To == 10 && p.Truncated
			}},
			{"the default range", messages.View{Kind: messages.ViewRange}, func(p messages.OutputPage) bool {
				return string(p.Data) == text.String() && !p.Truncated
			}},
			{"size", messages.View{Kind: messages.ViewSize}, func(p messages.OutputPage) bool {
				return p.Text == "" && p.Bytes == size && p.Lines == 100 && p.LinesExact
			}},
		} {
			reader.ask(messages.ReadOutput{Job: "j1", View: v.view, Plain: true})
			if p := reader.page(); !v.check(p) || p.Job != "j1" || p.Bytes != size || p.Closed {
				t.Errorf("%s: got %+v", v.name, p)
			}
		}
		c.end(s.kid)
		reader.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTailLine, Lines: 1}})
		if p := reader.page(); !p.Closed || p.Text != "\x1b[1mline 100\x1b[0m\n" {
			t.Errorf("got %+v, want the raw line of a closed log", p)
		}
	})
}

func TestBadInputSinkRefuses(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		s.tell(c.outputs())
		reader := s.client()
		for _, r := range []struct {
			request any
			want    messages.Code
		}{
			{messages.ReadScreen{Job: "j1"}, messages.Unsupported},
			{messages.ReadOutput{View: messages.View{Kind: "picture"}}, messages.InvalidParams},
			{messages.ReadOutput{}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewHeadTail}}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewTail, Bytes: -1}}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewRange, Offset: -1}}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewPage, Lines: -1}}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewTail}, Stream: messages.Stdout}, messages.InvalidParams},
			{messages.ReadOutput{View: messages.View{Kind: messages.ViewTail}, Stream: 7}, messages.InvalidParams},
			{messages.FollowOutput{Stream: messages.Stderr}, messages.InvalidParams},
			{messages.FollowOutput{From: -1}, messages.InvalidParams},
		} {
			reader.ask(r.request)
			refusedWith(t, reader.take(), r.want)
		}
		s.tell(read(messages.ViewTail)) // nobody asks: nobody is told
		s.tell(followFrom(0))
	})
}

// gated is a log whose first read waits for the test.
type gated struct {
	spill.Log
	gate <-chan struct{}
}

func (g gated) ReadAt(p []byte, off int64) (int, error) {
	<-g.gate
	return g.Log.ReadAt(p, off)
}

// crowded asks for first, and for all others while that is being counted.
func crowded(s *stage, c *scribe, by *client, first any, others ...any) {
	gate := make(chan struct{})
	out := c.outputs()
	out = through(out, func(l spill.Log) spill.Log { return gated{l, gate} })
	s.tell(out)
	by.ask(first)
	for _, r := range others {
		by.ask(r)
	}
	same(s.t, by.take())
	close(gate)
	s.settle()
}

// A count of a large log is made in steps: who needs none goes ahead, who does
// is answered in his order.
func TestSinkCountsInSteps(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, strings.Repeat(strings.Repeat("x", 99)+"\n", 200_000)) // 20 MB
		reader := s.client()
		crowded(s, c, reader, read(messages.ViewSize),
			messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewPage, Offset: 150_000, Lines: 1}},
			messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTailLine, Lines: 1}},
			messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewRange, Bytes: 3}},
			followFrom(0))
		got := reader.take()
		if len(got) != 5 {
			t.Fatalf("got %s\nwant five answers", listed(got))
		}
		if p, ok := got[0].(messages.OutputPage); !ok || string(p.Data) != "xxx" {
			t.Errorf("the range was not answered first")
		}
		same(t, got[1:2], messages.OutputGrew{Size: 20_000_000})
		size, page, last := got[2].(messages.OutputPage), got[3].(messages.OutputPage), got[4].(messages.OutputPage)
		if size.Lines != 200_000 || !size.LinesExact || page.Line != 150_000 || last.Line != 200_000 {
			t.Errorf("got %d lines, page %d, last line %d", size.Lines, page.Line, last.Line)
		}
	})
}

func TestFaultSinkBoundsWhoWaits(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, strings.Repeat("x\n", countStep)) // two steps
		reader := s.client()
		var more []any
		for range maxWaiting + 2 {
			more = append(more, read(messages.ViewSize))
		}
		crowded(s, c, reader, read(messages.ViewSize), more...)
		got := reader.take()
		pages, refused := of[messages.OutputPage](got), of[messages.RequestRejected](got)
		if len(pages) != maxWaiting || len(refused) != 3 || refused[0].Err.Code != messages.ResourceExhausted {
			t.Fatalf("%d pages and %d refusals, want %d and 3", len(pages), len(refused), maxWaiting)
		}
		for _, p := range pages {
			if p.Lines != countStep {
				t.Fatalf("counted %d lines", p.Lines)
			}
		}
	})
}

// A log that shrinks beneath the count is counted as far as it is there.
func TestFaultSinkCountsWhatIsThere(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, "a\nb\n")
		out := c.outputs()
		out = through(out, func(l spill.Log) spill.Log { return shrunk{l} })
		s.tell(out)
		a := s.client()
		a.ask(read(messages.ViewSize))
		if p := a.page(); p.Lines != 1 || p.Bytes != 2 || p.Closed {
			t.Errorf("got %+v, want one line", p)
		}
	})
}

// shrunk is a log that says it is longer than can be read.
type shrunk struct{ spill.Log }

func (c shrunk) ReadAt(p []byte, off int64) (int, error) {
	if off >= 2 {
		return 0, io.EOF
	}
	return c.Log.ReadAt(p[:min(int64(len(p)), 2-off)], off)
}

// A log that cannot be read is said to be unavailable, in every view.
func TestFaultSinkCannotRead(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, "a\nb\n")
		out := c.outputs()
		out = through(out, func(l spill.Log) spill.Log { return broken{l} })
		s.tell(out)
		a := s.client()
		for _, kind := range []messages.ViewKind{messages.ViewSize, messages.ViewTail, messages.ViewRange, messages.ViewPage} {
			a.ask(read(kind))
			refusedWith(t, a.take(), messages.OutputUnavailable)
		}
	})
}

// broken is a log of a disk that fails.
type broken struct{ spill.Log }

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }

// Requests that come before the job has started wait for it; not too many.
func TestSinkWaitsForTheStart(t *testing.T) {
	withEarlySink(t, func(s *stage, c *scribe) {
		reader, followers := s.client(), s.client()
		reader.ask(read(messages.ViewTail))
		for range maxWaiting - 1 {
			followers.ask(followFrom(0))
		}
		same(t, reader.take())
		same(t, followers.take())
		late := s.client()
		late.ask(read(messages.ViewTail))
		refusedWith(t, late.take(), messages.OutputUnavailable)
		if c.wanted != 1 {
			t.Errorf("the logs were asked for %d times, want once", c.wanted)
		}
		s.tell(c.outputs())
		if p := reader.page(); p.Bytes != 0 || p.Closed {
			t.Errorf("got %+v", p)
		}
		same(t, followers.take())
		c.write(messages.Merged, "x")
		same(t, followers.take(), messages.OutputGrew{Size: 1}) // one question of each follower counts
	})
}

func TestSinkFollows(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		s.tell(c.outputs())
		a, b := s.client(), s.client()
		a.ask(followFrom(0))
		b.ask(followFrom(0))
		a.ask(followFrom(0)) // again: it replaces the first
		same(t, a.take())
		if n := c.credit(); n != 1 {
			t.Errorf("growth was asked for %d times, want once", n)
		}
		c.write(messages.Merged, "hello")
		same(t, a.take(), messages.OutputGrew{Size: 5})
		same(t, b.take(), messages.OutputGrew{Size: 5})
		c.write(messages.Merged, "!")
		same(t, a.take()) // one answer to one question
		if n := c.credit(); n != 1 {
			t.Errorf("growth was asked for %d times although nobody waits", n)
		}
		a.ask(followFrom(5))
		same(t, a.take(), messages.OutputGrew{Size: 6}) // at once
		a.ask(followFrom(6))
		b.ask(followFrom(8))
		c.write(messages.Merged, "1")
		same(t, a.take(), messages.OutputGrew{Size: 7})
		same(t, b.take())
		c.write(messages.Merged, "23")
		same(t, b.take(), messages.OutputGrew{Size: 9})
		a.ask(followFrom(9))
		b.ask(followFrom(99))
		c.end(s.kid)
		same(t, a.take(), messages.OutputEnded{Size: 9})
		same(t, b.take(), messages.OutputEnded{Size: 9})
		a.ask(followFrom(9))
		b.ask(followFrom(2))
		same(t, a.take(), messages.OutputEnded{Size: 9})
		same(t, b.take(), messages.OutputGrew{Size: 9})
	})
}

// A follower that left without a word is nobody's loss, and takes no place.
func TestSinkForgetsFollowersThatLeft(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		s.tell(c.outputs())
		for range maxFollowers - 1 {
			f := s.client()
			f.ask(followFrom(0))
			f.leave()
		}
		a, b := s.client(), s.client()
		a.ask(followFrom(0))
		b.ask(followFrom(0))
		same(t, b.take())
		c.write(messages.Merged, "x")
		same(t, a.take(), messages.OutputGrew{Size: 1})
		same(t, b.take(), messages.OutputGrew{Size: 1})
	})
}

func TestFaultSinkBoundsFollowers(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		s.tell(c.outputs())
		for range maxFollowers {
			s.client().ask(followFrom(0))
		}
		one := s.client()
		one.ask(followFrom(0))
		refusedWith(t, one.take(), messages.ResourceExhausted)
	})
}

// A sink that dies is made again: nobody who waited is forgotten, it has let its
// logs go, and it says to its parent that it stands anew.
func TestFaultSinkRestarts(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		s.tell(c.outputs())
		c.write(messages.Merged, "hello\n")
		a := s.client()
		a.ask(followFrom(6))
		s.tell(poison{})
		same(t, a.take(), messages.OutputGrew{Size: 6}) // so that it asks again
		if n := s.store.Readers(); n != 1 {
			t.Errorf("%d logs are open", n)
		}
		a.ask(followFrom(6))
		same(t, a.take())
		c.write(messages.Merged, "again\n")
		same(t, a.take(), messages.OutputGrew{Size: 12})
		a.ask(read(messages.ViewSize))
		if p := a.page(); p.Lines != 2 {
			t.Errorf("got %+v, want 2 lines", p)
		}
		if c.wanted != 2 {
			t.Errorf("the logs were asked for %d times, want once by each", c.wanted)
		}
	})
}

// Who waits for a sink that goes is told to ask again: the next one answers.
func TestSinkDismissesWhoWaits(t *testing.T) {
	withEarlySink(t, func(s *stage, _ *scribe) {
		reader, follower := s.client(), s.client()
		reader.ask(read(messages.ViewTail))
		follower.ask(followFrom(3))
		s.sys.Root.Stop(s.kid)
		s.settle()
		refusedWith(t, reader.take(), messages.OutputUnavailable)
		same(t, follower.take(), messages.OutputGrew{})
	})
}

// A command that goes asks its sink first, so that no answer is lost with it.
func TestSinkFlushes(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, strings.Repeat("x\n", 2*countStep))
		gate := make(chan struct{})
		out := c.outputs()
		out = through(out, func(l spill.Log) spill.Log { return gated{l, gate} })
		s.tell(out)
		reader, command := s.client(), s.client()
		reader.ask(read(messages.ViewSize))
		command.ask(flushSink{})
		close(gate)
		s.settle()
		if p := reader.page(); p.Lines != 2*countStep {
			t.Errorf("counted %d lines", p.Lines)
		}
		same(t, command.take(), flushed{})
		reader.ask(read(messages.ViewSize)) // it still answers until it is stopped
		reader.page()
	})
}

// Who asked before the logs came is answered from them, although the command
// leaves already: only where none will come is he told to ask again.
func TestSinkFlushesWhoCameBeforeTheLogs(t *testing.T) {
	withEarlySink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, "x\n")
		ranger, counter, follower, command := s.client(), s.client(), s.client(), s.client()
		ranger.ask(read(messages.ViewRange))
		counter.ask(read(messages.ViewSize))
		follower.ask(followFrom(2))
		command.ask(flushSink{})
		same(t, ranger.take())
		same(t, counter.take())
		same(t, command.take())
		s.tell(c.outputs())
		if p := ranger.page(); string(p.Data) != "x\n" {
			t.Errorf("got %+v, want the text", p)
		}
		if p := counter.page(); p.Lines != 1 || !p.LinesExact {
			t.Errorf("got %+v, want one line", p)
		}
		same(t, follower.take(), messages.OutputGrew{Size: 2}) // so that it asks the next reader
		same(t, command.take(), flushed{})
	})
	withEarlySink(t, func(s *stage, _ *scribe) {
		reader, command := s.client(), s.client()
		reader.ask(read(messages.ViewTail))
		command.ask(flushSink{notStarted: true})
		refusedWith(t, reader.take(), messages.OutputUnavailable)
		same(t, command.take(), flushed{})
	})
}

// Logs that come twice replace one another, and the first ones are closed.
func TestSinkTakesNewLogs(t *testing.T) {
	withSink(t, func(s *stage, c *scribe) {
		c.write(messages.Merged, "a\nb\n")
		s.tell(c.outputs())
		a := s.client()
		a.ask(read(messages.ViewSize))
		a.page()
		s.tell(c.outputs())
		if n := s.store.Readers(); n != 1 {
			t.Errorf("%d logs are open, want 1", n)
		}
		a.ask(read(messages.ViewSize))
		if p := a.page(); p.Lines != 2 {
			t.Errorf("got %+v", p)
		}
	})
}

func TestSinkOfAJobThatNeverRan(t *testing.T) {
	onStage(t, func(s *stage) {
		s.raise(sinkProps(s.deps, "j1"), kindSink)
		s.tell(outputs{closed: true})
		a := s.client()
		a.ask(followFrom(0))
		same(t, a.take(), messages.OutputEnded{})
		a.ask(read(messages.ViewTail))
		if p := a.page(); p.Bytes != 0 || !p.Closed {
			t.Errorf("got %+v, want an empty page", p)
		}
	})
	onStage(t, func(s *stage) { // its log is lost: that is another thing
		s.raise(sinkProps(s.deps, "j1"), kindSink)
		s.tell(outputs{closed: true, of: []messages.Stream{messages.Merged}, open: func(messages.Stream) (spill.Log, error) {
			return nil, &messages.Error{Code: messages.OutputUnavailable}
		}})
		a := s.client()
		a.ask(followFrom(0))
		same(t, a.take(), messages.OutputEnded{})
		a.ask(read(messages.ViewTail))
		refusedWith(t, a.take(), messages.OutputUnavailable)
	})
}

// The reader of a job that is over goes when nobody asks any more.
func TestArchiveGoes(t *testing.T) {
	onStage(t, func(s *stage) {
		c := s.scribe("j1", messages.Merged)
		c.write(messages.Merged, "x\n")
		c.closed, s.react = true, c.serve
		s.raise(archiveProps(s.deps, "j1"), kindSink+"archive")
		s.heard.take() // it asks for its logs
		a := s.client()
		a.ask(read(messages.ViewSize))
		if p := a.page(); p.Lines != 1 || !p.Closed {
			t.Errorf("got %+v", p)
		}
		s.after(archiveIdle)
		a.ask(followFrom(2))
		same(t, a.take(), messages.OutputEnded{Size: 2})
		s.after(archiveIdle)
		same(t, s.heard.take())
		s.after(archiveIdle)
		if left := of[childDone](s.heard.take()); len(left) != 1 || !left[0].who.Equal(s.kid) {
			t.Errorf("it said ended %d times, want once", len(left))
		}
	})
}

func TestSinkKeepsStreamsApart(t *testing.T) {
	onStage(t, func(s *stage) {
		c := s.scribe("j1", messages.Stdout, messages.Stderr)
		s.react = c.serve
		s.raise(sinkProps(s.deps, "j1"), kindSink)
		s.tell(c.outputs())
		a := s.client()
		a.ask(messages.FollowOutput{Stream: messages.Stdout})
		a.ask(messages.FollowOutput{Stream: messages.Stderr})
		c.write(messages.Stderr, "e")
		same(t, a.take(), messages.OutputGrew{Stream: messages.Stderr, Size: 1})
		c.end(s.kid)
		same(t, a.take(), messages.OutputEnded{Stream: messages.Stdout})
		a.ask(messages.ReadOutput{Stream: messages.Stderr, View: messages.View{Kind: messages.ViewTail}})
		if p := a.page(); p.Text != "e" || p.Stream != messages.Stderr {
			t.Errorf("got %+v", p)
		}
	})
}

// fragile is a log over which its reader fails when it is read for the nth time.
type fragile struct {
	spill.Log
	left *int
}

func (f fragile) ReadAt(p []byte, off int64) (int, error) {
	if *f.left--; *f.left == 0 {
		panic("a view that fails")
	}
	return f.Log.ReadAt(p, off)
}

// Who waits for a view over which the sink fails is told so, once.
func TestFaultSinkFailsOverAView(t *testing.T) {
	for nth := 1; nth <= 3; nth++ { // the count reads first, then the view
		withSink(t, func(s *stage, c *scribe) {
			c.write(messages.Merged, "one\ntwo\n")
			left := nth
			s.tell(through(c.outputs(), func(l spill.Log) spill.Log { return fragile{l, &left} }))
			reader := s.client()
			reader.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewPage}})
			if got := reader.take(); len(got) != 1 {
				t.Errorf("read %d failed: got %s\nwant one answer", nth, listed(got))
			}
		})
	}
}
