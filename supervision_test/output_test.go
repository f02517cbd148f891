package supervision_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// follow reads a stream of a job to its end, as the door gives it.
func (h *house) follow(job messages.JobID, s messages.Stream, from int64) <-chan string {
	h.Helper()
	f, err := h.node.Output(context.Background(), job, s, from)
	if err != nil {
		h.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		all, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			h.Errorf("a follower of %s: %v", job, err)
		}
		done <- string(all)
	}()
	synctest.Wait()
	return done
}

// A follower gets every byte in order, from wherever it begins, and the end when
// no process can write any more: whether it comes before the job, while it runs
// or behind it.
func TestOutputFollowers(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "make"}})
		early := h.follow("j1", messages.Merged, 0)
		p := h.proc("make")
		p.Begin()
		var all strings.Builder
		for i := range 100 {
			line := strings.Repeat(string(rune('a'+i%26)), i) + "\n"
			all.WriteString(line)
			p.Write(messages.Merged, line)
			h.after(time.Second)
		}
		middle := h.follow("j1", messages.Merged, 1000)
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(0)
		finished(c)
		h.after(time.Hour)
		select {
		case got := <-early:
			h.Fatalf("it ended although the output is open, with %d bytes", len(got))
		default:
		}
		p.Write(messages.Merged, "late")
		all.WriteString("late")
		p.EndTree()
		want(h, "from the beginning", <-early, all.String())
		want(h, "from the middle", <-middle, all.String()[1000:])
		want(h, "behind the end", <-h.follow("j1", messages.Merged, 3), all.String()[3:])
		want(h, "behind it all", <-h.follow("j1", messages.Merged, 1<<40), "")
	})
}

// A follower does not notice that actors fail under it, or that the job is moved.
func TestOutputFollowerPastCrashes(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "make"}})
		got := h.follow("j1", messages.Merged, 0)
		all := ""
		for _, kind := range []string{"sink", "command", "session", "subscope", "scope", ""} {
			if kind == "" {
				reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "c"}))
			} else {
				h.crash(kind)
			}
			h.after(time.Minute)
			all += kind + " "
			p.Write(messages.Merged, kind+" ")
			h.after(0)
		}
		p.Exit(0)
		finished(c)
		want(h, "read", <-got, all)
	})
}

// What cannot be followed is refused by name.
func TestOutputRefused(t *testing.T) {
	inHouse(t, func(h *house) {
		h.ended(messages.RunCommand{Program: messages.Program{Text: "make"}})
		ctx := context.Background()
		for _, c := range []struct {
			job    messages.JobID
			stream messages.Stream
			from   int64
			code   messages.Code
		}{
			{"j9", messages.Merged, 0, messages.NotFound},
			{"j1", messages.Stdout, 0, messages.InvalidParams},
			{"j1", messages.Merged, -1, messages.InvalidParams},
		} {
			if _, err := h.node.Output(ctx, c.job, c.stream, c.from); !errors.Is(err, &messages.Error{Code: c.code}) {
				h.Errorf("%+v: %v", c, err)
			}
		}
		refused(h.ask(messages.FollowOutput{Job: "j9"}), messages.NotFound)
		refused(h.ask(messages.ReadOutput{Job: "j1", Stream: messages.Stderr, View: messages.View{Kind: messages.ViewTail}}), messages.InvalidParams)
		refused(h.ask(messages.ReadScreen{Job: "j1"}), messages.Unsupported)
	})
}

// The views are the same of a job that runs, of one that has ended, and past a
// failure of their reader.
func TestOutputViews(t *testing.T) {
	const text = "one\ntwo\nthree\nfour"
	views := []struct {
		view messages.View
		want string
		line int64
	}{
		{messages.View{Kind: messages.ViewTail}, text, 1},
		{messages.View{Kind: messages.ViewTailLine, Lines: 2}, "three\nfour", 3},
		{messages.View{Kind: messages.ViewPage, Offset: 2, Lines: 2}, "two\nthree\n", 2},
		{messages.View{Kind: messages.ViewRange, Offset: 4, Bytes: 5}, "two\nt", 0},
		{messages.View{Kind: messages.ViewSize}, "", 0},
	}
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		p.Write(messages.Merged, text)
		look := func(when string, closed bool) {
			for _, v := range views {
				page := reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j1", View: v.view}))
				want(h, when+", "+string(v.view.Kind), page.Text+string(page.Data), v.want)
				want(h, when+", bytes", page.Bytes, int64(len(text)))
				want(h, when+", closed", page.Closed, closed)
				if v.line > 0 {
					want(h, when+", line", page.Line, v.line)
				}
				if v.line > 1 || v.view.Kind == messages.ViewSize { // the others count no lines
					want(h, when+", lines", page.Lines, 4)
				}
			}
		}
		look("running", false)
		h.crash("sink")
		look("made anew", false)
		p.Exit(0)
		finished(c)
		look("over", true)
		h.after(time.Hour)
		look("long over", true)
		want(h, "readers", len(h.stage.all("sink")), 1)
		h.after(time.Hour)
		want(h, "readers", len(h.stage.all("sink")), 0)
	})
}

// One question of a follower has one answer: the growth, or the end.
func TestOutputCredit(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
		out, err := h.ask(messages.FollowOutput{Job: "j1", Stream: messages.Stdout}), h.ask(messages.FollowOutput{Job: "j1", Stream: messages.Stderr, From: 3})
		p.Write(messages.Stderr, "abc")
		silent(out)
		silent(err)
		p.Write(messages.Stderr, "d")
		p.Write(messages.Stderr, "e")
		want(h, "stderr", reply[messages.OutputGrew](err).Stream, messages.Stderr)
		p.Exit(0)
		finished(c)
		h.after(0)
		h.wantOneOf(out) // it ended, or its reader went and it may ask the next one
		want(h, "the end", reply[messages.OutputEnded](h.ask(messages.FollowOutput{Job: "j1", Stream: messages.Stderr, From: 5})).Size, 5)
		fails := h.run(messages.RunCommand{Program: messages.Program{Text: "fails"}})
		waits := h.ask(messages.FollowOutput{Job: "j2"})
		silent(waits)
		h.proc("fails").Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
		finished(fails)
		h.wantOneOf(waits)
		want(h, "no output", reply[messages.OutputEnded](h.ask(messages.FollowOutput{Job: "j2"})).Size, 0)
	})
}

// What could not be started has an empty output, to who waited for it and to who
// comes when it is over.
func TestOutputOfWhatCannotStart(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "fails"}})
		read := messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}
		early := h.ask(read)
		silent(early)
		h.proc("fails").Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
		finished(c)
		for _, asked := range []*client{early, h.ask(read)} {
			page := reply[messages.OutputPage](asked)
			want(h, "bytes", page.Bytes, 0)
			want(h, "closed", page.Closed, true)
		}
		f, err := h.node.Output(context.Background(), "j1", messages.Merged, 0)
		if err != nil {
			h.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			h.Error(err)
		}
		want(h, "text", string(text), "")
	})
}

// Whoever asks in the instant in which the job ends is answered, once: by the
// reader that goes, or by the next one.
func TestOutputAskedAtTheEnd(t *testing.T) {
	for range 30 { // they race
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
			p.Write(messages.Merged, "x")
			h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}})
			var asked []*client
			p.Exit(0)
			for range 8 {
				asked = append(asked, h.send(messages.FollowOutput{Job: "j1", From: 1}),
					h.send(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}), h.send(messages.StopCommand{Job: "j1"}))
			}
			h.after(0)
			finished(c)
			for _, a := range asked {
				want(h, "answers to "+say(a.request), len(a.heard()), 1)
			}
		})
	}
}

// Whoever asks as soon as the client of the run has its reply is shown the output:
// the reader is made by the question, and its logs are on their way when its
// command leaves.
func TestOutputReadAsSoonAsItIsOver(t *testing.T) {
	inHouse(t, func(h *house) {
		for i := range 100 { // they race
			text := fmt.Sprintf("make %d", i)
			shown := make(chan any, 1)
			go func() {
				job, err := h.node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: text}})
				if err != nil {
					shown <- err
					return
				}
				page, err := h.node.Ask(context.Background(), messages.ReadOutput{Job: job.ID, View: messages.View{Kind: messages.ViewSize}})
				if err != nil {
					page = err
				}
				shown <- page
			}()
			h.after(0)
			p := h.proc(text)
			p.Begin()
			p.Write(messages.Merged, "x\n")
			p.Exit(0)
			got := <-shown
			if page, ok := got.(messages.OutputPage); !ok || page.Lines != 1 {
				h.Fatalf("%s: it was shown %s", text, brief(got))
			}
		}
	})
}

// Read asks the next reader; what no reader can show is an error.
func TestOutputReadPastCrashes(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "make"}})
		p := h.proc("make")
		view := messages.View{Kind: messages.ViewTail}
		shown := make(chan messages.OutputPage, 1)
		go func() {
			page, err := h.node.Read(context.Background(), messages.ReadOutput{Job: "j1", View: view})
			if err != nil {
				h.Errorf("it was refused: %v", err)
			}
			shown <- page
		}()
		h.after(0)
		h.crash("sink") // it is refused by the reader that goes, as one that was moved
		p.Begin()
		h.after(0)
		p.Write(messages.Merged, "x")
		want(h, "job", (<-shown).Job, "j1")
		p.Exit(0)
		finished(c)
		_, err := h.node.Read(context.Background(), messages.ReadOutput{Job: "j9", View: view})
		want(h, "refused", errors.Is(err, &messages.Error{Code: messages.NotFound}), true)
	})
}

// wantOneOf wants one answer that lets a follower go on.
func (h *house) wantOneOf(c *client) {
	h.Helper()
	switch m := reply[any](c).(type) {
	case messages.OutputEnded, messages.OutputGrew:
	default:
		h.Errorf("a follower was answered %s", brief(m))
	}
}

// A quota holds what is kept: with kill it ends the job, with the others what is
// missing is said.
func TestOutputQuotas(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, policy := range []string{"keep_head", "elide"} {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: policy}, Store: messages.Store{Quota: messages.Quota{Bytes: 10, Policy: policy}}})
			p.Write(messages.Merged, "0123456789abcdef")
			p.Exit(0)
			job := finished(c)
			want(h, policy, job.End.Outcome, messages.Exited)
			want(h, policy+", bytes", job.Output[0].Bytes, 16)
			page := reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: job.ID, View: messages.View{Kind: messages.ViewRange, Bytes: 16}}))
			want(h, policy+", gaps", len(page.Gaps), 1)
			f, err := h.node.Output(context.Background(), job.ID, messages.Merged, 0)
			if err != nil {
				h.Fatal(err)
			}
			kept, err := io.ReadAll(f)
			if err = errors.Join(err, f.Close()); err != nil {
				h.Error(err)
			}
			want(h, policy+", kept", len(kept), 10)
			want(h, policy+", left out", len(f.Gaps()), 1)
		}
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "kill"}, Store: messages.Store{Quota: messages.Quota{Bytes: 10, Policy: "kill"}}, Grace: time.Second})
		p.Write(messages.Merged, "0123456789abcdef")
		h.after(time.Second)
		h.wantSignals(p, "TERM", "KILL")
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.Cancelled)
		want(h, "by", job.End.Cause.By, messages.ByQuota)
	})
}
