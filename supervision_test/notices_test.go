package supervision_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// urls plays all that is behind URLs.
type urls struct {
	mu     sync.Mutex
	tries  []try
	answer func(d messages.Delivery, try int) messages.Delivered // nil: all is taken
	hold   map[string]bool                                       // does not answer until the try is given up
}

// try is one that was made to deliver a notice.
type try struct {
	to, id string
	seq    messages.Seq
	at     time.Time
	job    messages.Record
}

// Deliver implements actors.Webhooks.
func (u *urls) Deliver(d messages.Delivery, told func(messages.Delivered)) func() {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, t := range u.tries {
		if t.to == d.To && t.seq == d.Seq {
			n++
		}
	}
	u.tries = append(u.tries, try{to: d.To, id: d.ID(), seq: d.Seq, at: time.Now(), job: d.Job})
	result := messages.Delivered{}
	if u.answer != nil {
		result = u.answer(d, n+1)
	}
	quit := make(chan struct{})
	go func() {
		if u.holds(d.To) {
			<-quit
			result = busy
		}
		told(result)
	}()
	return sync.OnceFunc(func() { close(quit) })
}

func (u *urls) holds(to string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hold[to]
}

// of are the tries at a URL.
func (u *urls) of(to string) []try {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []try
	for _, t := range u.tries {
		if t.to == to {
			all = append(all, t)
		}
	}
	return all
}

// fresh forgets what another house said.
func (u *urls) fresh() *urls {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tries, u.answer, u.hold = nil, nil, nil
	return u
}

// then answers otherwise from now on.
func (u *urls) then(answer func(d messages.Delivery, try int) messages.Delivered) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = answer
}

var (
	busy = messages.Delivered{Err: messages.Error{Code: messages.Busy, Message: "it is busy"}}
	dead = func(messages.Delivery, int) messages.Delivered { return busy }
)

const there, elsewhere = "https://there/hook", "https://elsewhere/hook"

// ends runs a job to its end that is to be told.
func (h *house) ends(text string, code int, to ...string) messages.Record {
	h.Helper()
	c, p := h.start(messages.RunCommand{Program: messages.Program{Text: text}, OnFinish: to})
	p.Exit(code)
	return finished(c)
}

// wantNotices compares what became of the notices of a job: "delivered 1".
func (h *house) wantNotices(id messages.JobID, want ...string) {
	h.Helper()
	var got []string
	for _, n := range h.job(id).OnFinish {
		got = append(got, fmt.Sprintf("%s %d", n.State, n.Tries))
		if (n.State == messages.NoticeGivenUp) != (n.Err.Message != "") {
			h.Errorf("%s is told %s with the reason %q", n.To, n.State, n.Err.Message)
		}
	}
	if !slices.Equal(got, want) {
		h.Errorf("of the notices of %s became %v, want %v", id, got, want)
	}
}

// gap is how long it was between the tries, in seconds.
func gaps(all []try) []int {
	var out []int
	for i := 1; i < len(all); i++ {
		out = append(out, int(all[i].at.Sub(all[i-1].at).Seconds()))
	}
	return out
}

// An end is told to each URL once, under the number of its fact, with the record as
// it stood; when nothing is left to tell, nobody is left who tells it.
func TestNotifyAURL(t *testing.T) {
	journals(t, func(h *house) {
		u := h.plan.urls.fresh()
		job := h.ends("make", 3, there, elsewhere)
		for _, to := range []string{there, elsewhere} {
			all := u.of(to)
			if len(all) != 1 {
				h.Fatalf("%s was told %d times", to, len(all))
			}
			got := all[0].job
			want(h, "seq", all[0].seq, got.Seq)
			want(h, "job", got.ID, job.ID)
			want(h, "code", got.End.Shell(), 3)
			want(h, "it learns of others", len(got.OnFinish), 1)
			want(h, "it learns of itself", got.OnFinish[0].To, to)
			want(h, "id", all[0].id, fmt.Sprintf("%s.%d", job.UID, all[0].seq))
		}
		h.wantNotices(job.ID, "delivered 1", "delivered 1")
		h.wantFacts(job.ID, "started finished:exited retired notified notified")
		want(h, "tellers", len(h.stage.all("notice")), 0)
		want(h, "channels", len(h.stage.all("channel")), 0)
		h.ends("again", 0, there)
		want(h, "told", len(u.of(there)), 2)
	}, plan{urls: &urls{}})
}

// A receiver that fails is tried again, later each time; one that comes back has it.
func TestFaultNotifyTriesAgain(t *testing.T) {
	inHouse(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.then(func(_ messages.Delivery, try int) messages.Delivered {
			switch {
			case try == 5:
				return messages.Delivered{Err: busy.Err, After: 10 * time.Minute}
			case try > 8:
				return messages.Delivered{}
			}
			return busy
		})
		job := h.ends("make", 0, there)
		h.wantNotices(job.ID, "pending 0")
		h.after(time.Hour)
		h.wantNotices(job.ID, "delivered 9")
		got := gaps(u.of(there))
		for i, most := range []int{1, 2, 4, 8, 600, 32, 64, 128} {
			if least := most / 2; got[i] > most || got[i] < least || most == 600 && got[i] != most {
				h.Errorf("wait %d was %d s, want %d to %d (all: %v)", i+1, got[i], least, most, got)
			}
		}
	}, plan{urls: &urls{}})
}

// A receiver that is dead is given up, within the bounds of number and time, and that
// is told; what came behind it was not tried for a day more. One that says that it is
// gone is given up at once.
func TestFaultNotifyGivesUp(t *testing.T) {
	inHouse(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.then(dead)
		first, second := h.ends("first", 0, there), h.ends("second", 0, there)
		h.after(lifecycle.NoticeAge + time.Minute)
		if n := h.job(first.ID).OnFinish[0].Tries; n < 50 || n > lifecycle.NoticeTries {
			h.Errorf("it was tried %d times", n)
		}
		want(h, "first", h.job(first.ID).OnFinish[0].State, messages.NoticeGivenUp)
		want(h, "second", h.job(second.ID).OnFinish[0].State, messages.NoticeGivenUp)
		h.wantFacts(second.ID, "started finished:exited retired notified")
		want(h, "tellers", len(h.stage.all("notice")), 0)

		u.then(func(messages.Delivery, int) messages.Delivered { return messages.Delivered{Err: busy.Err, Gone: true} })
		gone := h.ends("gone", 0, there)
		h.wantNotices(gone.ID, "given_up 1")
	}, plan{urls: &urls{}})
}

// One that does not answer delays nobody but those behind it at the same URL.
func TestNotifyOneAtATime(t *testing.T) {
	inHouse(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.hold = map[string]bool{there: true}
		a, b := h.ends("a", 0, there, elsewhere), h.ends("b", 0, there, elsewhere)
		h.after(time.Hour)
		want(h, "at the one that hangs", len(u.of(there)), 1)
		want(h, "at the other", len(u.of(elsewhere)), 2)
		h.wantNotices(a.ID, "pending 0", "delivered 1")
		h.wantNotices(b.ID, "pending 0", "delivered 1")
	}, plan{urls: &urls{}})
}

// Whoever dies on the way of a notice is replaced, and it is told under its number.
// What fails every time is given up, and that is told.
func TestFaultNotifyTellerDies(t *testing.T) {
	for _, kind := range []string{"notice", "channel"} {
		journals(t, func(h *house) {
			u := h.plan.urls.fresh()
			u.then(dead)
			job := h.ends("make", 0, there)
			h.crash(kind)
			u.then(nil)
			h.after(time.Minute)
			h.wantNotices(job.ID, "delivered "+fmt.Sprint(h.job(job.ID).OnFinish[0].Tries))
			for _, t := range u.of(there) {
				want(h, "number", t.seq, u.of(there)[0].seq)
			}
			u.then(dead)
			job = h.ends("hopeless", 0, there)
			for len(h.stage.all(kind)) > 0 {
				h.crash(kind)
			}
			h.after(0)
			want(h, "hopeless", h.job(job.ID).OnFinish[0].State, messages.NoticeGivenUp)
			want(h, "tellers", len(h.stage.all("notice"))+len(h.stage.all("channel")), 0)
			u.then(nil)
			h.wantNotices(h.ends("later", 0, there).ID, "delivered 1")
		}, plan{urls: &urls{}})
	}
}

// A node that was killed between an end and its notice leaves it to the next one,
// which tells it under the same number; what was told is not told again.
func TestRestartTellsWhatWasNotTold(t *testing.T) {
	journals(t, func(h *house) {
		u := h.plan.urls.fresh()
		told := h.ends("told", 0, there)
		u.then(dead)
		late := h.ends("late", 4, there, "tell")
		_, running := h.start(messages.RunCommand{Program: messages.Program{Text: "running"}, Labels: messages.Labels{Name: "running"}, Mode: messages.ModeAsync, OnFinish: []string{there}})
		h.again()
		h.wantNotices(told.ID, "delivered 1")
		h.again()
		u.then(nil)
		h.after(lifecycle.NoticeMost)
		want(h, "told", h.job(late.ID).OnFinish[0].State, messages.NoticeDelivered)
		running.Exit(5)
		h.after(0)
		h.wantNotices("running", "delivered 1")
		seqs := map[messages.Seq]int{}
		for _, t := range u.of(there) {
			seqs[t.seq]++
		}
		want(h, "numbers", len(seqs), 3)
		want(h, "what was told", seqs[u.of(there)[0].seq], 1)
	}, plan{urls: &urls{}})
}

// What the journal no longer holds cannot be told, and that is.
func TestFaultNotifyIsForgotten(t *testing.T) {
	inHouse(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.then(dead)
		job := h.ends("old", 0, there)
		h.runMany(10, "later")
		h.again()
		h.wantNotices(job.ID, "given_up 0")
	}, plan{keep: 8, urls: &urls{}})
}

// A job whose end is still to be told is neither removed nor forgotten before: the
// next node tells it, and then it goes.
func TestNotifyKeepsWhatIsNotTold(t *testing.T) {
	journals(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.then(dead)
		late := h.ends("late", 4, there)
		want(h, "why", refused(h.ask(messages.RemoveJob{Job: late.ID}), messages.Refused).Reason, "on_finish")
		h.runMany(5, "later")
		h.again()
		h.after(time.Hour)
		h.wantNotices(late.ID, "pending 0")
		u.then(nil)
		h.after(time.Hour)
		want(h, "the last try", u.of(there)[len(u.of(there))-1].seq, late.Seq)
		reply[messages.JobMissing](h.ask(messages.FindJob{Job: late.ID}))
		h.again()
		reply[messages.JobMissing](h.ask(messages.FindJob{Job: late.ID}))
		told := h.ends("told", 0, there)
		want(h, "removed", reply[messages.JobFound](h.ask(messages.RemoveJob{Job: told.ID})).Job.ID, told.ID)
	}, plan{urls: &urls{}, limits: actors.Limits{Finished: 2}})
}

// Of jobs that wait to be told no more are kept than of others, and none for whose
// output there is no room.
func TestFloodNotifyKeepsNoMoreThanItMay(t *testing.T) {
	for name, limits := range map[string]actors.Limits{"number": {Finished: 3}, "bytes": {Finished: 3, LogBytes: 1}} {
		t.Run(name, func(t *testing.T) {
			journals(t, func(h *house) {
				h.plan.urls.fresh().then(dead)
				most := 2 * limits.Finished
				for n := range 10 {
					_, p := h.start(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", n)}, Mode: messages.ModeAsync, OnFinish: []string{there}})
					p.Write(messages.Merged, "some text")
					p.Exit(0)
					h.after(0)
				}
				if limits.LogBytes > 0 {
					most = 0
				}
				want(h, "kept", len(h.listed(messages.ListJobs{Finished: true})), most)
			}, plan{urls: &urls{}, limits: limits})
		})
	}
}

// told is the job by which a command is told.
func (h *house) told(c string) *fake.Process {
	h.Helper()
	p := h.proc(c)
	p.Begin()
	h.after(0)
	return p
}

// A command is told by a job of its own scope, which has the record on its standard
// input; how it ends is what becomes of the notice, and it is not run again.
func TestNotifyACommand(t *testing.T) {
	journals(t, func(h *house) {
		job := h.ends("make", 3, "tell")
		h.wantNotices(job.ID, "pending 0")
		p := h.told("tell")
		text, closed := p.Input()
		var record map[string]any
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			h.Fatalf("%v: %q", err, text)
		}
		want(h, "id", record["id"], any(string(job.ID)))
		want(h, "exit code", record["exit_code"], any(3.0))
		want(h, "a line", strings.Count(text, "\n"), 1)
		want(h, "closed", closed, true)
		listed := h.listed(messages.ListJobs{Scope: messages.NoticeScope})
		want(h, "jobs", len(listed), 1)
		p.Exit(0)
		h.after(0)
		h.wantNotices(job.ID, "delivered 1")
		h.wantFacts(listed[0], "started promoted finished:exited retired")

		bad := h.ends("make more", 0, "tell")
		h.told("tell").Exit(9)
		h.after(0)
		h.wantNotices(bad.ID, "given_up 1")
		if said := h.job(bad.ID).OnFinish[0].Err.Error(); !strings.Contains(said, "exit 9") {
			h.Errorf("why: %s", said)
		}
		late := h.ends("make all", 0, "tell")
		stubborn := h.told("tell")
		h.after(2 * time.Minute)
		h.wantSignals(stubborn, "TERM", "KILL")
		stubborn.Exit(137)
		h.after(0)
		h.wantNotices(late.ID, "given_up 1")
		want(h, "tellers", len(h.stage.all("notice")), 0)
	}, plan{})
}

// A command that is being told while the node is killed is not run again: the next
// one goes on with its input, and hears of its end.
func TestRestartJoinsTheCommandThatIsTold(t *testing.T) {
	journals(t, func(h *house) {
		job := h.ends("make", 0, "tell")
		p := h.proc("tell")
		h.again()
		p.Begin()
		h.after(0)
		text, closed := p.Input()
		want(h, "records", strings.Count(text, "\n"), 1)
		want(h, "closed", closed, true)
		h.again()
		text, _ = p.Input()
		want(h, "records", strings.Count(text, "\n"), 1)
		h.die()
		p.Exit(0)
		h.begin()
		h.wantNotices(job.ID, "delivered 1")
		n := 0
		for _, p := range h.engine.Ever() {
			if p.Text() == "tell" {
				n++
			}
		}
		want(h, "runs", n, 1)
	}, plan{})
}

// A command that an older version began to tell, which asked otherwise for it, is not run
// again and not given up: the key of a notice says which it is.
func TestRestartJoinsTheCommandOfAnOlderVersion(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, UID: "01JD0000000000000000000000", OnFinish: []string{"tell"}})
		last := func() messages.Seq {
			n, err := h.ledger.Last()
			if err != nil {
				h.Fatal(err)
			}
			return n
		}
		seq := last() + 7 // behind its scope, its session and the four facts of the job that tells it
		id := fmt.Sprintf("01JD0000000000000000000000.%d", seq)
		h.ask(messages.RunCommand{
			Key: id + " tell", Labels: messages.Labels{Principal: "troupe:notice", Tag: id, Description: "as it was said then"}, Scope: messages.NoticeScope, Program: messages.Program{Text: "tell"},
			Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync, Timeout: time.Minute, OnExit: messages.KillChildren,
		})
		h.told("tell").Exit(0)
		h.after(0)
		want(h, "seq", last()+1, seq)
		p.Exit(0)
		job := finished(c)
		want(h, "seq", h.job(job.ID).OnFinish[0].Seq, seq)
		h.wantNotices(job.ID, "delivered 1")
	}, plan{})
}

// A command whose job ended before it began is told by another job, whichever node's
// turn it is then: it runs once.
func TestRestartTellsTheCommandThatNeverBegan(t *testing.T) {
	for name, never := range map[string]func(h *house){
		"killed": func(h *house) { h.again() },
		"ended": func(h *house) {
			if err := h.shutdown(messages.ShutdownNode{Grace: -1}); err != nil {
				h.Error(err)
			}
			h.bury()
			h.begin()
		},
		"no room": func(h *house) {
			h.proc("tell first").Exit(0)
			h.after(0)
			h.proc("tell").Fail(messages.Error{Code: messages.ResourceExhausted, Reason: "EAGAIN", Message: "no room"}, 126)
		},
		"directory gone": func(h *house) {
			h.proc("tell first").Exit(0)
			h.after(0)
			h.proc("tell").Fail(messages.Error{Code: messages.CwdNotFound, Reason: "ENOENT", Message: "gone"}, 126)
		},
	} {
		t.Run(name, func(t *testing.T) {
			journals(t, func(h *house) {
				h.ends("first", 0, "tell first")
				h.told("tell first")
				job := h.ends("make", 0, "tell")
				never(h)
				h.wantNotices(job.ID, "pending 0")
				h.proc("tell first").Exit(0)
				h.after(lifecycle.NoticeFirst)
				h.again()
				h.after(8 * lifecycle.NoticeFirst)
				h.again()
				p := h.told("tell")
				h.after(lifecycle.NoticeFirst)
				p.Exit(0)
				h.after(0)
				want(h, "notice", h.job(job.ID).OnFinish[0].State, messages.NoticeDelivered)
				ran := 0
				for _, p := range h.engine.Ever() {
					if text, _ := p.Input(); p.Text() == "tell" && text != "" {
						ran++
					}
				}
				want(h, "runs", ran, 1)
			}, plan{fake: fake.Options{Can: backends.Capabilities{
				Parallel: 1, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
			}}})
		})
	}
}

// A node without a way to URLs does not promise to tell them; a notice has no
// notices; a channel of the node's own is no client's.
func TestNotifyRefuses(t *testing.T) {
	inHouse(t, func(h *house) {
		refused(h.run(messages.RunCommand{Program: messages.Program{Text: "x"}, OnFinish: []string{there}}), messages.Unsupported)
		refused(h.run(messages.RunCommand{Program: messages.Program{Text: "x"}, Scope: "notify", OnFinish: []string{"tell"}}), messages.Refused)
		h.ends("make", 0, "tell")
		refused(h.ask(messages.Subscribe{Channel: "notice-1"}), messages.Conflict)
		refused(h.ask(messages.Unsubscribe{Channel: "notice-1"}), messages.NotFound)
		h.told("tell").Exit(0)
	})
}

// A thousand ends behind a receiver that is dead leave others served, hold no more
// than an outbox, and are all told when it lives again, in their order.
func TestFloodNotify(t *testing.T) {
	inHouse(t, func(h *house) {
		u := h.plan.urls.fresh()
		u.then(func(d messages.Delivery, try int) messages.Delivered {
			if d.To == there {
				return busy
			}
			return messages.Delivered{}
		})
		const n = 1000
		for i := range n {
			h.ends(fmt.Sprintf("job %d", i), 0, there, elsewhere)
		}
		want(h, "others", len(u.of(elsewhere)), n)
		want(h, "tellers", len(h.stage.all("notice")), 1)
		want(h, "channels", len(h.stage.all("channel")), 1)
		u.then(nil)
		h.after(lifecycle.NoticeMost)
		var order []messages.Seq
		for _, t := range u.of(there) {
			if len(order) == 0 || order[len(order)-1] != t.seq {
				order = append(order, t.seq)
			}
		}
		want(h, "told", len(order), n)
		want(h, "in order", slices.IsSorted(order), true)
		h.wantNotices("j1000", "delivered 1", "delivered 1")
		want(h, "tellers", len(h.stage.all("notice")), 0)
	}, plan{urls: &urls{}, limits: actors.Limits{Finished: 2000}})
}

// The end of the node gives out what can be given; what cannot be is left to the next.
func TestShutdownTellsTheLastEnds(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync, OnFinish: []string{there, elsewhere}})
		p.Leave(fake.Children{})
		u := h.plan.urls.fresh()
		u.hold = map[string]bool{elsewhere: true}
		if err := h.shutdown(messages.ShutdownNode{Grace: -1}); err != nil {
			h.Error(err)
		}
		want(h, "told", len(u.of(there)), 1)
		want(h, "outcome", u.of(there)[0].job.End.Outcome, messages.Cancelled)
	}, plan{urls: &urls{}, fake: fake.Options{}})
}
