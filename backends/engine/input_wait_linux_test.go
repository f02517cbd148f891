package engine

import (
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

// awaited is what was said of the job's wait for input, in order.
func awaited(e *ear) (list []bool) {
	for _, f := range e.all() {
		if f, ok := f.(messages.InputWaiting); ok {
			list = append(list, f.Waiting)
		}
	}
	return list
}

// look has the job looked at, and reports what was said behind the look.
func (e *ear) look() (answer string, waits bool) {
	e.t.Helper()
	before := len(answers(e))
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.hears("an answer", func([]messages.ProcessFact) bool { return len(answers(e)) > before })
	said := awaited(e)
	return answers(e)[before], len(said) > 0 && said[len(said)-1]
}

// waits waits until it was said so often whether the job waits.
func (e *ear) waits(said ...bool) {
	e.t.Helper()
	e.hears("wait for input", func([]messages.ProcessFact) bool { return len(awaited(e)) >= len(said) })
	if got := awaited(e); !slices.Equal(got[:len(said)], said) {
		e.t.Errorf("%s: said %v, want %v", e.id, got, said)
	}
}

var readers = map[string]string{
	"shell":      "read x; echo $x",
	"cat":        "exec cat",
	"pipeline":   "cat | cat",
	"grandchild": "bash -c 'bash -c \"read x; echo \\$x\"; true'; true",
	"orphan":     "(bash -c 'read x <&3; echo $x' & ) 3<&0; read y < GATE",
	"python":     "exec python3 -c 'print(input())'",
	"thread": `exec python3 -c '
import threading, time
t = threading.Thread(target=lambda: print(input(), flush=True))
t.start(); t.join()'`,
}

// eachReader runs every reader: reading while it waits for its input, and ended once it is over.
func eachReader(t *testing.T, reading, ended func(*rig, *ear)) {
	for name, text := range readers {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(text, "python3") {
				need.Program(t, "python3")
			}
			r := newRig(t)
			g := newGate(t)
			e := r.fed(strings.Replace(text, "GATE", g.path, 1))
			reading(r, e)
			e.proc.Do(backends.CloseInput{})
			if strings.Contains(text, "GATE") {
				g.open()
			}
			e.over()
			ended(r, e)
		})
	}
}

// A process of the job, whichever it is, that waits in a read of its input is seen;
// what is given to it ends the wait.
func TestAwaitedInput(t *testing.T) {
	eachReader(t, func(_ *rig, e *ear) {
		e.proc.Do(backends.CheckInput{For: time.Minute})
		e.waits(true)
		e.proc.Do(backends.Input{Data: []byte("hi\n")})
		e.grown(messages.Merged, 2)
		e.waits(true, false)
	}, func(r *rig, e *ear) {
		if got := r.output(e, messages.Merged); got != "hi\n" {
			r.t.Errorf("%q", got)
		}
	})
}

// Who sleeps, reads something else or was stopped in its read does not wait for
// input; nor does a job that has some.
func TestInputNotAwaited(t *testing.T) {
	r := newRig(t)
	e := r.fed("echo up; sleep 100; true")
	e.grown(messages.Merged, 0)
	if got, waits := e.look(); got != "done" || waits {
		t.Errorf("asleep: %s, waits %v", got, waits)
	}
	e.proc.Stop(client(), 0)
	e.over()

	g := newGate(t)
	e = r.fed("echo up; x=$(cat " + g.path + "); read y; echo $y")
	e.grown(messages.Merged, 0)
	if got, waits := e.look(); got != "done" || waits {
		t.Errorf("a read of another pipe: %s, waits %v", got, waits)
	}
	e.proc.Do(backends.Input{Data: []byte("hi\n")})
	if _, waits := e.look(); waits {
		t.Error("waits with input in its pipe")
	}
	g.open()
	e.over()
	if got := r.output(e, messages.Merged); got != "up\nhi\n" || len(awaited(e)) > 0 {
		t.Errorf("%q, said %v", got, awaited(e))
	}

	e = r.fed("exec cat")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waits(true)
	e.proc.Do(backends.Signal{Name: "STOP"})
	e.waits(true, false)
	e.proc.Do(backends.Signal{Name: "CONT"})
	e.waits(true, false, true)
	e.proc.Do(backends.CloseInput{})
	e.over()
	if got := awaited(e); !slices.Equal(got, []bool{true, false, true, false}) {
		t.Errorf("said %v", got)
	}
}

// What can never wait for input is refused at once, also when that becomes so.
func TestInputNeverAwaited(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; sleep 100")
	if got, _ := e.look(); got != "refused no_input" {
		t.Errorf("without input: %s", got)
	}
	e.proc.Stop(client(), 0)
	e.over()
	e = r.fed("echo up; sleep 100")
	e.proc.Do(backends.CloseInput{})
	e.hears("its end", func([]messages.ProcessFact) bool { return len(answers(e)) == 1 })
	if got, _ := e.look(); got != "refused no_input" {
		t.Errorf("with its input closed: %s", got)
	}
	e.proc.Stop(client(), 0)
	e.over()
	e = r.fed("exec 0<&-; echo up; sleep 100")
	e.grown(messages.Merged, 0)
	if got, _ := e.look(); got != "refused no_input" {
		t.Errorf("it closed its input: %s", got)
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// A new owner hears how it stands.
func TestAwaitedInputIsHeardAgain(t *testing.T) {
	r := newRig(t)
	e := r.fed("exec cat")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waits(true)
	second := newEar(t)
	second.id = e.id
	p, err := r.e.Adopt(e.id, second.hear)
	if err != nil {
		t.Fatal(err)
	}
	second.proc = p
	second.waits(true)
	p.Do(backends.CloseInput{})
	second.over()
	second.waits(true, false)
}

// shy is a kernel that shows nobody the files of processes with some names, and
// counts who asks for one.
type shy struct {
	Sys
	hidden []string
	asked  atomic.Int64
}

func (h *shy) OpenAt(dir int, path string, flags int) (int, error) {
	if strings.HasPrefix(path, "/proc/") {
		for _, name := range h.hidden {
			if strings.HasSuffix(path, name) && !strings.HasPrefix(path, "/proc/thread-self") {
				return -1, unix.EACCES
			}
		}
		if strings.HasSuffix(path, "/syscall") && !strings.HasPrefix(path, "/proc/thread-self") {
			h.asked.Add(1)
		}
	}
	return h.Sys.OpenAt(dir, path, flags)
}

func hides(h *shy) func(*Options) {
	return func(o *Options) { h.Sys, o.Sys = kernel{}, h }
}

// Where system calls are not shown a reader is known by the place where it sleeps, if
// there is only one pipe that it can read.
func TestAwaitedInputByPlace(t *testing.T) {
	h := &shy{hidden: []string{"/syscall"}}
	r := newRig(t, hides(h))
	e := r.fed("exec cat")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waits(true)
	e.proc.Do(backends.CloseInput{})
	e.over()
	e = r.fed("echo up; exec sleep 100")
	e.grown(messages.Merged, 0)
	if got, waits := e.look(); waits || got != "done" {
		t.Errorf("asleep: %s, waits %v", got, waits)
	}
	e.proc.Stop(client(), 0)
	e.over()
	g := newGate(t)
	e = r.fed("echo up; x=$(cat " + g.path + ")")
	e.grown(messages.Merged, 0)
	for got, waits := e.look(); got != "refused unsupported"; got, waits = e.look() { // it is on its way there
		if waits || got != "done" {
			t.Fatalf("a read of some pipe: %s, waits %v", got, waits)
		}
	}
	g.open()
	e.over()
}

// restless shows a thread as running at each first look for its place.
type restless struct {
	shy
	looks atomic.Int64
}

func (s *restless) OpenAt(dir int, path string, flags int) (int, error) {
	if strings.HasSuffix(path, "/wchan") && !strings.HasPrefix(path, "/proc/thread-self") && s.looks.Add(1)%2 == 1 {
		path = os.DevNull
	}
	return s.shy.OpenAt(dir, path, flags)
}

// A thread that runs when it is looked at, and then sleeps elsewhere, reads nothing.
func TestAwaitedInputOfAThreadThatRuns(t *testing.T) {
	sys := &restless{shy: shy{Sys: kernel{}, hidden: []string{"/syscall"}}}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	g := newGate(t)
	e := r.fed("echo up; read x < " + g.path)
	e.grown(messages.Merged, 0)
	for range 10 { // it is on its way there
		if got, waits := e.look(); waits || got != "done" {
			t.Errorf("a wait for a writer: %s, waits %v", got, waits)
		}
	}
	if sys.looks.Load() == 0 {
		t.Error("no place was looked at")
	}
	g.open()
	e.over()
}

// Where nothing is shown that is said, and nobody waits for ever.
func TestAwaitedInputUnseen(t *testing.T) {
	h := &shy{hidden: []string{"/syscall", "/wchan"}}
	r := newRig(t, hides(h))
	e := r.fed("echo up; exec cat")
	e.grown(messages.Merged, 0)
	for got, waits := e.look(); got != "refused unsupported"; got, waits = e.look() {
		if waits || got != "done" {
			t.Fatalf("%s, waits %v", got, waits)
		}
	}
	e.proc.Do(backends.CloseInput{})
	e.over()
}

// Nothing is looked at for nobody, and a wait that is over is let go of.
func TestInputIsLookedAtForSomebody(t *testing.T) {
	h := &shy{}
	r := newRig(t, hides(h))
	e := r.fed("read x; echo $x")
	e.proc.Do(backends.Input{Data: []byte("hi\n")})
	e.over()
	if n := h.asked.Load(); n > 0 {
		t.Errorf("%d looks for nobody", n)
	}
	w, j := newAwaits(r.e.host), &job{}
	now := time.Now()
	for _, c := range []struct {
		seen  inputState
		until time.Time
		kept  bool
	}{
		{notReading, now.Add(time.Hour), true},
		{blind, now.Add(time.Hour), true},
		{deaf, now.Add(time.Hour), false},
		{unseen, now.Add(time.Hour), false},
		{notReading, now, false},
		{reads, now, true}, // what was said must stay true
	} {
		w.jobs[j] = &inputQuery{until: c.until, next: now, pause: awaitFirst}
		w.settle(j, c.seen)
		if kept := w.jobs[j] != nil; kept != c.kept {
			t.Errorf("%d: kept %v", c.seen, kept)
		}
	}
}

func TestReadOf(t *testing.T) {
	for text, want := range map[string]int{
		"running\n": -1, "-1 0x7ffc 0x7f\n": -1, "": -1,
		"0 0x0 0x7fccca614000 0x20000 0x7fccca6a7b60 0xffffffff 0x0 0x7ffcd337ab88 0x7fccca7902ad\n": 0,
		"0 0x3 0x7f 0x1 0x0 0x0 0x0 0x7f 0x7f\n":                                                     3,
		"1 0x1 0x7f 0x1 0x0 0x0 0x0 0x7f 0x7f\n":                                                     -1,
		"0 zz":                                                                                       -1,
	} {
		if unix.SYS_READ != 0 {
			text = strings.Replace(text, "0 0x", "63 0x", 1)
		}
		if got := readOf([]byte(text)); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// What a job has asked is in its log when it is said to wait for the answer.
func TestInputIsAwaitedBehindTheQuestion(t *testing.T) {
	for name, start := range map[string]func(*rig, string) *ear{"pipe": (*rig).fed, "terminal": (*rig).onTerminal} {
		t.Run(name, func(t *testing.T) {
			moving, moves := make(chan struct{}), make(chan struct{})
			moved := sync.OnceFunc(func() { close(moving) })
			move := sync.OnceFunc(func() { close(moves) })
			r := newRig(t, func(o *Options) {
				o.Store = &tapped{o.Store, func(w spill.Writer, from int, most int64) (int64, error) {
					moved()
					<-moves
					return w.Splice(from, most)
				}}
			})
			t.Cleanup(move)
			e := start(r, "printf 'name? '; read x")
			<-moving // by the pump: a look that finds nobody at it would move it
			for range maxBehind / 4 {
				if got, waits := e.look(); got != "done" || waits {
					t.Errorf("%s, waits %v", got, waits)
				}
			}
			move()
			e.waits(true)
			if got := r.output(e, messages.Merged); got != "name? " {
				t.Errorf("%q", got)
			}
			e.proc.Do(backends.Input{Data: []byte("x\n")})
			e.over()
		})
	}
}

// What others write hides only for a while that a job waits, and then not again.
func TestInputIsAwaitedInAFlood(t *testing.T) {
	r := newRig(t)
	e := r.fed("while sleep 0.001; do head -c 65536 /dev/zero; done & read x; kill $!")
	for waits := false; !waits; {
		_, waits = e.look()
	}
	for range 2 * maxBehind {
		if got, waits := e.look(); got != "done" || !waits {
			t.Fatalf("%s, waits %v", got, waits)
		}
	}
	e.proc.Do(backends.Input{Data: []byte("x\n")})
	e.over()
	if got := awaited(e); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("said %v", got)
	}
}
