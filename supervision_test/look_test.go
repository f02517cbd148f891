package supervision_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// hanging are options of a place that never answers about one directory.
func hanging(end chan struct{}) fake.Options {
	return fake.Options{Check: func(c backends.Command) *messages.Error {
		if c.Dir == "/hangs" {
			<-end
		}
		if c.Dir == "/nowhere" {
			return &messages.Error{Code: messages.CwdNotFound, Message: "there is no /nowhere"}
		}
		return nil
	}}
}

// runToEnd plays the whole life of a process that was asked for.
func runToEnd(h *house, text string) {
	h.Helper()
	p := h.proc(text)
	p.Begin()
	h.after(0)
	p.Exit(0)
	h.after(0)
}

// A directory that hangs holds up nobody but the new jobs of its session, and they
// keep their order.
func TestFaultDirectoryHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		h := open(t, plan{fake: hanging(end)})
		before, p := h.start(messages.RunCommand{Program: messages.Program{Text: "it runs already"}})
		hangs := h.send(messages.RunCommand{Program: messages.Program{Text: "first"}, Dir: "/hangs"})
		behind := h.send(messages.RunCommand{Program: messages.Program{Text: "second"}})
		wrong := h.send(messages.RunCommand{Program: messages.Program{Text: "third"}, Dir: "/nowhere"})
		silent(hangs)
		silent(behind)

		other, q := h.start(messages.RunCommand{Program: messages.Program{Text: "another session"}, Session: "other"})
		q.Exit(0)
		want(h, "another session's", finished(other).End.Outcome, messages.Exited)
		p.Exit(0)
		want(h, "the running job's", finished(before).End.Outcome, messages.Exited)
		early, none := h.ask(messages.PromoteCommand{Job: "j2"}), h.ask(messages.ReadOutput{Job: "j4"})
		silent(early)
		silent(none)

		close(end)
		synctest.Wait()
		refused(none, messages.NotFound)
		refused(wrong, messages.CwdNotFound)
		for _, text := range []string{"first", "second"} {
			runToEnd(h, text)
		}
		want(h, "who promotes it", reply[messages.CommandPromoted](early).Job.ID, "j2")
		want(h, "the job that hung", reply[messages.CommandPromoted](hangs).Job.ID, "j2")
		want(h, "the one behind it", finished(behind).End.Outcome, messages.Exited)
		h.end()
	})
}

// A job whose directory hangs can be stopped, given up and handed over; those
// behind it go on.
func TestFaultDirectoryHangsAndTheJobIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		h := open(t, plan{fake: hanging(end)})
		hangs := h.send(messages.RunCommand{Program: messages.Program{Text: "first"}, Dir: "/hangs"})
		behind := h.send(messages.RunCommand{Program: messages.Program{Text: "second"}})
		again := h.send(messages.RunCommand{Program: messages.Program{Text: "third"}, Dir: "/hangs"})
		silent(behind)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j1"}))
		want(h, "the one that was stopped", finished(hangs).End.Outcome, messages.Cancelled)
		runToEnd(h, "second")
		want(h, "the one behind it", finished(behind).End.Outcome, messages.Exited)

		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j3", To: "elsewhere"}))
		silent(again) // it hangs there, too
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "elsewhere"}))
		want(h, "the one that was handed over", finished(again).End.Outcome, messages.Cancelled)
		close(end)
		h.end()
	})
}

// Sessions and nodes end although a directory hangs.
func TestFaultDirectoryHangsAndAllEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		h := open(t, plan{fake: hanging(end)})
		hangs := h.send(messages.RunCommand{Program: messages.Program{Text: "first"}, Dir: "/hangs"})
		behind := h.send(messages.RunCommand{Program: messages.Program{Text: "second"}})
		synctest.Wait()
		reply[messages.SessionClosed](h.ask(messages.CloseSession{}))
		want(h, "the one that hangs", finished(hangs).End.Outcome, messages.Cancelled)
		want(h, "the one behind it", finished(behind).End.Outcome, messages.Cancelled)
		last := h.send(messages.RunCommand{Program: messages.Program{Text: "third"}, Dir: "/hangs"})
		synctest.Wait()
		began := time.Now()
		require.NoError(t, h.shutdown(messages.ShutdownNode{}))
		want(h, "the end took", time.Since(began), 0)
		want(h, "the last", finished(last).End.Outcome, messages.Cancelled)
		close(end)
		h.end()
	})
}

// A look that fails is told, and the session goes on.
func TestFaultTheLookFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, plan{fake: fake.Options{Check: func(c backends.Command) *messages.Error {
			if c.Text == "bad" {
				panic("boom")
			}
			return nil
		}}})
		refused(h.ask(messages.RunCommand{Program: messages.Program{Text: "bad"}}), messages.Internal)
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "good"}})
		p.Exit(0)
		want(h, "the next", finished(c).End.Outcome, messages.Exited)
		h.end()
	})
}

// However many jobs hang, and are given up, only so many threads hang with them.
func TestFaultManyDirectoriesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, jobs = 64, 200
		end := make(chan struct{})
		var hang atomic.Int64
		h := open(t, plan{fake: fake.Options{Check: func(backends.Command) *messages.Error {
			hang.Add(1)
			defer hang.Add(-1)
			<-end
			return nil
		}}})
		var asked []*client
		for i := range jobs {
			asked = append(asked, h.send(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", i)}, Session: messages.SessionID(fmt.Sprintf("s%d", i%100))}))
		}
		synctest.Wait()
		want(h, "looks", hang.Load(), most)
		for i, c := range asked[:jobs-1] {
			h.ask(messages.StopCommand{Job: messages.JobID(fmt.Sprintf("j%d", i+1))})
			want(h, "a job that was given up", finished(c).End.Outcome, messages.Cancelled)
		}
		want(h, "looks behind the stops", hang.Load(), most)
		silent(asked[jobs-1])
		close(end)
		synctest.Wait()
		runToEnd(h, fmt.Sprintf("job %d", jobs-1))
		want(h, "the last", finished(asked[jobs-1]).End.Outcome, messages.Exited)
		h.end()
	})
}
