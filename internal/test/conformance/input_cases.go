package conformance

import (
	"slices"
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func inputCases() []testCase {
	return []testCase{
		{"no input", noInput, pipes},
		{"input and its end", inputAndEnd, input | pipes},
		{"input is bounded", inputBounds, input | pipes},
		{"input is awaited", inputAwaited, input | pipes},
		{"input is never awaited", neverAwaited, pipes},
		{"signals", someSignals, signals | ownProcess},
		{"controls are answered in order", answersInOrder, input | signals},
		{"numbered controls wait for no input", numberedAnswers, input | signals | pipes},
		{"controls after the exit", controlsAfterExit, ownProcess},
	}
}

// answers waits for the answers to n controls.
func (r *run) answers(n int) []messages.ProcessFact {
	r.Helper()
	var found []messages.ProcessFact
	r.until("an answer", func(heard []messages.ProcessFact) bool {
		found = nil
		for _, f := range heard {
			switch f.(type) {
			case messages.ControlDone, messages.ControlRefused, messages.InputWritten:
				found = append(found, f)
			}
		}
		return len(found) >= n
	})
	return found
}

func refusal(f messages.ProcessFact) messages.Code {
	if r, ok := f.(messages.ControlRefused); ok && r.Err.Message != "" {
		return r.Err.Code
	}
	return ""
}

func noInput(b *bench) {
	r := b.start("read")
	r.process.Do(backends.Input{Data: []byte("x\n")})
	if f := r.over(); f.Status.Code != 0 {
		b.Errorf("ended with %+v", f.Status)
	}
	if text := r.read(messages.Merged); text != "status 1\n" {
		b.Errorf("a read of nothing: %q", text)
	}
	r = b.start("sleep").ready()
	r.process.Do(backends.Input{Data: []byte("x\n")})
	if code := refusal(r.answers(1)[0]); code != messages.NoInput {
		b.Errorf("answered with %s", show(r.all()))
	}
}

func inputAndEnd(b *bench) {
	r := b.start("cat", withInput)
	r.process.Do(backends.Input{Data: []byte("one\n")})
	r.process.Do(backends.Input{Data: []byte("two\n")})
	written := r.answers(2)
	if written[0] != any(messages.InputWritten{Through: 4}) || written[1] != any(messages.InputWritten{Through: 8}) {
		b.Errorf("answered with %s", show(written))
	}
	r.wrote(messages.Merged, "one\ntwo\n")
	r.process.Do(backends.CloseInput{})
	if f := r.over(); f.Status.Code != 0 || f.Sizes[messages.Merged] != 8 {
		b.Errorf("the result is %+v", f)
	}
}

// inputBounds checks that all input reaches the job, and that too much at once is
// refused.
func inputBounds(b *bench) {
	r := b.start("cat", withInput)
	r.process.Do(backends.Input{Data: make([]byte, messages.MaxInput+1)})
	if code := refusal(r.answers(1)[0]); code != messages.TooLarge {
		b.Errorf("answered with %s", show(r.all()))
	}
	piece := []byte(strings.Repeat("x", 100_000))
	for i := range 5 {
		r.process.Do(backends.Input{Data: piece})
		r.answers(2 + i)
	}
	r.process.Do(backends.CloseInput{})
	if f := r.over(); f.Sizes[messages.Merged] != 500_000 {
		b.Errorf("%v bytes came out", f.Sizes)
	}
}

// inputAwaited checks that a reading job waits for input until it has some. A backend
// that cannot see that refuses the control.
func inputAwaited(b *bench) {
	r := b.start("cat", withInput)
	r.process.Do(backends.CheckInput{For: time.Minute})
	if code := refusal(r.answers(1)[0]); code == messages.Unsupported {
		b.Skip("this machine does not show what a process waits for")
	} else if code != "" {
		b.Errorf("answered with %s", show(r.all()))
	}
	r.awaits(true)
	r.process.Do(backends.Input{Data: []byte("one\n")})
	r.awaits(true, false)
	r.wrote(messages.Merged, "one\n")
	r.process.Do(backends.CloseInput{})
	r.over()
	if said := r.awaited(); said[len(said)-1] {
		b.Errorf("ended and waits: %v", said)
	}
	r.process.Do(backends.CheckInput{For: time.Minute})
}

// awaits waits for the reports whether the job waits for input.
func (r *run) awaits(want ...bool) {
	r.Helper()
	r.until("whether it waits for input", func([]messages.ProcessFact) bool { return len(r.awaited()) >= len(want) })
	if said := r.awaited(); !slices.Equal(said[:len(want)], want) {
		r.Errorf("said %v, want %v", said, want)
	}
}

func (r *run) awaited() (said []bool) {
	for _, f := range r.all() {
		if f, ok := f.(messages.InputWaiting); ok {
			said = append(said, f.Waiting)
		}
	}
	return said
}

func neverAwaited(b *bench) {
	r := b.start("sleep").ready()
	r.process.Do(backends.CheckInput{For: time.Minute})
	if code := refusal(r.answers(1)[0]); code != messages.NoInput && code != messages.Unsupported {
		b.Errorf("answered with %s", show(r.all()))
	}
}

func someSignals(b *bench) {
	r := b.start("usr1").ready()
	r.process.Do(backends.Signal{Name: "USR1"})
	r.wrote(messages.Merged, "ready\ngot\n")
	r.process.Do(backends.Signal{Name: "NOSUCH"})
	found := r.answers(2)
	if found[0] != any(messages.ControlDone{}) || refusal(found[1]) != messages.InvalidParams {
		b.Errorf("answered with %s", show(found))
	}
	r.process.Do(backends.Signal{Name: "KILL", Tree: true})
	if f := r.over(); f.Status.Signal != "KILL" || f.Cause != (messages.Cause{}) {
		b.Errorf("the result is %+v", f)
	}
}

func answersInOrder(b *bench) {
	r := b.start("cat", withInput)
	r.begun()
	for _, c := range []backends.Control{
		backends.Input{Data: []byte("x")}, backends.Signal{Name: "NOSUCH"}, backends.CloseInput{},
	} {
		r.process.Do(c)
	}
	found := r.answers(3)
	if found[0] != any(messages.InputWritten{Through: 1}) || refusal(found[1]) != messages.InvalidParams || found[2] != any(messages.ControlDone{}) {
		b.Errorf("answered with %s", show(found))
	}
	r.over()
}

// numberedAnswers checks that a signal is answered at once while earlier input is
// unread.
func numberedAnswers(b *bench) {
	r := b.start("sleep", withInput).ready()
	r.process.Do(backends.Sequenced{Control: backends.Input{Data: make([]byte, 200_000)}, Nth: 7})
	r.process.Do(backends.Sequenced{Control: backends.Signal{Name: "CONT"}, Nth: 9})
	r.until("the answer to the signal", func(heard []messages.ProcessFact) bool {
		return slices.ContainsFunc(heard, func(f messages.ProcessFact) bool {
			a, is := f.(messages.ControlAnswer)
			return is && a.Answers() == 9
		})
	})
	r.process.Stop(messages.Cause{By: messages.ByClient}, 0)
	r.over()
	nths := map[uint64]int{}
	for _, f := range r.answers(2) {
		nths[f.(messages.ControlAnswer).Answers()]++
	}
	if len(nths) != 2 || nths[7] != 1 || nths[9] != 1 {
		b.Errorf("answered with %s", show(r.all()))
	}
}

func controlsAfterExit(b *bench) {
	r := b.start("held")
	r.result()
	n := len(r.all())
	r.process.Do(backends.Resize{Size: messages.Terminal{Rows: 1, Cols: 1}})
	r.process.Do(backends.CloseInput{})
	r.until("two refusals", func(heard []messages.ProcessFact) bool { return count[messages.ControlRefused](heard[n:]) == 2 })
	r.stop(messages.ByClient, 10*time.Second)
	r.over()
}
