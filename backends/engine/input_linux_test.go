package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func (r *rig) fed(text string) *ear {
	s := r.spec(text)
	s.Stdio.Stdin = messages.StdinPipe
	return r.start(s)
}

// answers are what controls were answered with.
func answers(e *ear) []string {
	var list []string
	for _, f := range e.all() {
		switch f := f.(type) {
		case messages.InputWritten:
			list = append(list, fmt.Sprint("written ", f.Through))
		case messages.ControlRefused:
			list = append(list, "refused "+string(f.Err.Code))
		case messages.ControlDone:
			list = append(list, "done")
		}
	}
	return list
}

func TestInputReachesTheJob(t *testing.T) {
	r := newRig(t)
	e := r.fed("cat; echo end")
	e.proc.Do(backends.Input{Data: []byte("one\n")}) // before there is a process
	e.proc.Do(backends.Input{Data: []byte("two\n")})
	e.proc.Do(backends.CloseInput{})
	e.over()
	if got := r.output(e, messages.Merged); got != "one\ntwo\nend\n" {
		t.Errorf("%q", got)
	}
	if got := answers(e); !slices.Equal(got, []string{"written 4", "written 8", "done"}) {
		t.Errorf("%v", got)
	}
}

// A job that does not read has its input wait, up to a bound; what is beyond
// is refused and changes nothing. Order is kept.
func TestBadInputIsBounded(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.fed("read x < " + g.path + "; cksum")
	big := bytes.Repeat([]byte("0123456789abcdef"), messages.MaxInput/16)
	e.proc.Do(backends.Input{Data: big[:200_000]}) // more than a pipe holds
	e.proc.Do(backends.Input{Data: big[:100_000]}) // no room
	e.proc.Do(backends.Input{Data: append(big, 'x')})
	e.proc.Do(backends.Input{Data: big[:50_000]})
	e.proc.Do(backends.Signal{Name: "CONT"})
	e.proc.Do(backends.CloseInput{})
	e.proc.Do(backends.Input{Data: []byte("late")})
	g.open()
	e.over()
	want := []string{"written 200000", "refused resource_exhausted", "refused too_large", "written 250000", "done", "done", "refused no_input"}
	if got := answers(e); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, " 250000\n") {
		t.Errorf("%q", got)
	}
}

// What has a number is answered when its answer is known: of input that waits for the
// job only that itself, and what is to be behind it.
func TestInputHoldsBackNoAnswerWithANumber(t *testing.T) {
	r := newRig(t)
	e := r.fed("echo up; sleep 100")
	e.grown(messages.Merged, 0)
	for i, c := range []backends.Control{
		backends.Input{Data: make([]byte, 200_000)},
		backends.Input{Data: make([]byte, 100_000)},
		backends.Signal{Name: "CONT"},
		backends.Signal{Name: "NOSUCH"},
		backends.Deadline{After: time.Hour},
		backends.Pause{},
		backends.Resume{},
		backends.Resize{},
		backends.CloseInput{},
	} {
		e.proc.Do(backends.Sequenced{Control: c, Nth: uint64(i + 1)})
	}
	numbers := func() (list []uint64) {
		for _, f := range e.all() {
			if a, is := f.(messages.ControlAnswer); is {
				list = append(list, a.Answers())
			}
		}
		return list
	}
	e.hears("seven answers", func([]messages.ProcessFact) bool { return len(numbers()) == 7 })
	if got := numbers(); !slices.Equal(got, []uint64{2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%v", got)
	}
	e.proc.Stop(client(), 0)
	e.over()
	want := []string{
		"refused resource_exhausted", "done", "refused invalid_params", "done", "done", "done", "refused unsupported",
		"refused job_finished",
	}
	if got := answers(e); !slices.Equal(got[:8], want) {
		t.Errorf("%v", got)
	}
}

func TestBadInputOfAJobWithoutAny(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; sleep 100")
	e.proc.Do(backends.Input{Data: []byte("x")})
	e.proc.Do(backends.CloseInput{})
	e.proc.Do(backends.Resize{})
	e.proc.Do(backends.Signal{Name: "FOO"})
	e.proc.Do(backends.Signal{Name: "SIGUSR1"})
	x := e.over()
	if x.Status.Signal != "USR1" || x.Cause != (messages.Cause{}) {
		t.Errorf("%+v", x)
	}
	want := []string{"refused no_input", "refused no_input", "refused unsupported", "refused invalid_params", "done"}
	if got := answers(e); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// A job that closes its input, or ends, refuses what it did not take.
func TestBadInputThatIsNotTaken(t *testing.T) {
	r := newRig(t)
	e := r.fed("exec 0<&-; echo up; sleep 100")
	e.grown(messages.Merged, 0)
	e.proc.Do(backends.Input{Data: []byte("x")})
	e.proc.Do(backends.Input{Data: []byte("y")})
	e.hears("two answers", func([]messages.ProcessFact) bool { return len(answers(e)) == 2 })
	if f := await[messages.ControlRefused](e); f.Err.Reason != "EPIPE" {
		t.Errorf("%+v", f)
	}
	if got := answers(e); !slices.Equal(got, []string{"refused no_input", "refused no_input"}) {
		t.Errorf("%v", got)
	}
	e.proc.Stop(client(), 0)
	e.over()
	e = r.fed("echo up; sleep 100")
	e.proc.Do(backends.Input{Data: make([]byte, 200_000)})
	e.grown(messages.Merged, 0)
	e.proc.Stop(client(), 0)
	e.over()
	if got := answers(e); !slices.Equal(got, []string{"refused job_finished"}) {
		t.Errorf("%v", got)
	}
}

func TestSignalOfTheTree(t *testing.T) {
	r := newRig(t)
	e := r.up("trap 'echo parent' USR1; (trap 'echo child; kill -9 $!; exit' USR1; sleep 100 & echo up; wait) & wait; wait")
	e.proc.Do(backends.Signal{Name: "USR1", Tree: true})
	e.over()
	if got := r.output(e, messages.Merged); !strings.Contains(got, "parent\n") || !strings.Contains(got, "child\n") {
		t.Errorf("%q", got)
	}
}

// A deadline can be given, moved and taken back.
func TestDeadlineControl(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; read x < <(sleep 0.6); exit 1")
	e.proc.Do(backends.Deadline{After: 200e6})
	e.proc.Do(backends.Deadline{})
	if x := e.over(); x.Status.Code != 1 {
		t.Errorf("%+v", x)
	}
	e = r.up("echo up; sleep 100")
	e.proc.Do(backends.Deadline{After: 50e6})
	if x := e.over(); x.Cause.By != messages.ByDeadline {
		t.Errorf("%+v", x)
	}
}

// A deadline that has come is its owner's to act on, who may have moved it at that very
// moment, and has told so.
func TestADeadlineIsItsOwnersFirst(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.up("echo up; read x < " + g.path + "; exit 1")
	for _, after := range []time.Duration{1, time.Hour} {
		e.proc.Do(backends.Deadline{After: after})
		await[messages.ControlDone](e)
	}
	g.open()
	if x := e.over(); x.Status.Code != 1 || x.Cause.By != messages.ByNone {
		t.Errorf("%+v", x)
	}
}

// A new owner is not told the answers of the former one.
func TestAnswersAreTheAskers(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	first := r.fed("read x < " + g.path + "; cat > /dev/null")
	first.proc.Do(backends.Input{Data: make([]byte, 200_000)})
	second := r.adopt(first.id)
	g.open()
	second.proc.Do(backends.Input{Data: []byte("x")})
	second.proc.Do(backends.CloseInput{})
	second.over()
	if got := answers(second); !slices.Equal(got, []string{"written 200001", "done"}) {
		t.Errorf("%v", got)
	}
	if got := answers(first); len(got) > 0 {
		t.Errorf("the former owner: %v", got)
	}
}
