package engine

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

// onTerminal starts a shell text on a terminal.
func (r *rig) onTerminal(text string) *ear { return r.start(r.terminalSpec(text)) }

func (r *rig) terminalSpec(text string) backends.Spec {
	s := r.spec(text)
	s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80}
	return s
}

// says waits until the output of the job has text in it.
func (r *rig) says(e *ear, text string) {
	r.t.Helper()
	await[messages.ProcessStarted](e)
	for {
		got := r.output(e, messages.Merged)
		if strings.Contains(got, text) {
			return
		}
		e.grown(messages.Merged, int64(len(got)))
	}
}

func (e *ear) types(text string) { e.proc.Do(backends.Input{Data: []byte(text)}) }

// A job on a terminal has it on 0, 1 and 2, as the controlling one of a session of its
// own, in the size that was asked for.
func TestTerminal(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("test -t 0 && test -t 1 && test -t 2 && stty size && echo tty > /dev/tty; ps -o tpgid= -p $$ | grep -qw $$ && echo front; exit 3")
	x := e.over()
	if got := r.output(e, messages.Merged); got != "24 80\r\ntty\r\nfront\r\n" || x.Status.Code != 3 || x.OutputOpen || x.Children != 0 || len(x.Flags) > 0 {
		t.Errorf("%q, %+v", got, x)
	}
	if got := words(e); got != wholeLife {
		t.Errorf("facts: %s", got)
	}
}

func TestTerminalIsResized(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("trap 'stty size; exit' WINCH; echo up; while :; do read -t 0.1 x; done")
	r.says(e, "up")
	e.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 0, Cols: 7}})
	e.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 50, Cols: 132}})
	e.over()
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, "50 132\r\n") {
		t.Errorf("%q", got)
	}
	if got := answers(e); len(got) != 2 || got[0] != "refused invalid_params" || got[1] != "done" {
		t.Errorf("%v", got)
	}
}

// A key that means a signal is one, to whoever is in the foreground.
func TestTerminalKeysAreSignals(t *testing.T) {
	r := newRig(t)
	for key, signal := range map[string]string{"\x03": "INT", "\x1c": "QUIT"} {
		e := r.onTerminal("ulimit -c 0; exec cat")
		e.types("up\n")
		r.says(e, "up\r\nup\r\n") // it is the cat that reads
		e.types(key)
		if x := e.over(); x.Status.Signal != signal || x.Cause != (messages.Cause{}) {
			t.Errorf("%s: %+v", signal, x)
		}
	}
	e := r.onTerminal("set -m; cat; echo status $?; kill -9 %1")
	e.types("hi\n")
	r.says(e, "hi\r\nhi\r\n")
	e.types("\x1a")
	r.says(e, "status 148")
	e.over()
}

// What the job does to the modes of its terminal is undone from our side.
func TestTerminalIsReset(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("stty raw -echo; echo up; read x; stty -a")
	r.says(e, "up")
	e.proc.Do(backends.ResetTerminal{})
	e.types("\n")
	e.over()
	got := r.output(e, messages.Merged)
	for _, mode := range []string{" icanon", " echo ", " opost", " icrnl", " isig"} {
		if !strings.Contains(strings.ReplaceAll(got, "\n", " "), mode) {
			t.Errorf("no%s in %q", mode, got)
		}
	}
	e = r.up("echo up; sleep 100")
	e.proc.Do(backends.ResetTerminal{})
	if f := await[messages.ControlRefused](e); f.Err.Code != messages.Unsupported {
		t.Errorf("%+v", f)
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// A terminal that nobody has open is no end: the job opens it again. Only its exit is.
func TestTerminalIsOpenedAgain(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.onTerminal("echo one; exec <&- >&- 2>&-; read x < " + g.path + "; echo two > /dev/tty; read x < " + g.path + "; echo three > /dev/tty; exit 5")
	r.says(e, "one")
	s := r.streams(e)[0]
	for _, say := range []string{"two", "three"} {
		until(t, func() bool { // nobody has it
			hung := false
			s.end.use(func(fd int) { hung, _ = kernel{}.HungUp(fd) })
			return hung
		})
		g.open()
		if say == "two" {
			r.says(e, say)
		}
	}
	if x := e.over(); x.Status.Code != 5 || r.output(e, messages.Merged) != "one\r\ntwo\r\nthree\r\n" {
		t.Errorf("%+v, %q", x, r.output(e, messages.Merged))
	}
}

// What a job leaves behind is hung up on, unless it does not mind: then what it writes
// is captured, and delays nothing.
func TestTerminalIsHeld(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("sleep 1000 & echo now")
	if x := e.over(); x.Status.Code != 0 {
		t.Errorf("%+v", x)
	}
	g := newGate(t)
	e = r.onTerminal("trap '' HUP; (read x < " + g.path + "; echo late) & echo now")
	x := await[messages.ProcessExited](e)
	if !x.OutputOpen || x.Sizes[0] != 5 || x.Status.Code != 0 {
		t.Errorf("%+v", x)
	}
	g.open()
	e.over()
	if got := r.output(e, messages.Merged); got != "now\r\nlate\r\n" || await[messages.OutputClosed](e).Sizes[0] != 11 {
		t.Errorf("%q", got)
	}
	e = r.onTerminal("trap '' HUP; sleep 1000 & echo now")
	if x := await[messages.ProcessExited](e); !x.OutputOpen {
		t.Errorf("%+v", x)
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// One who never stops writing delays a result no longer than it takes to have what the
// main process wrote.
func TestTerminalIsNeverQuiet(t *testing.T) {
	r := newRig(t)
	for _, text := range []string{"yes", "while :; do echo x; read -t 0.003 x < <(sleep 1); done"} {
		e := r.onTerminal("trap '' HUP; (" + text + ") & echo $BASHPID; exec bash -c 'echo last; exit 4'")
		x := await[messages.ProcessExited](e)
		if got := r.output(e, messages.Merged); x.Status.Code != 4 || !strings.Contains(got[:x.Sizes[0]], "last") || !x.OutputOpen {
			t.Errorf("%+v", x)
		}
		e.proc.Stop(client(), 0)
		e.over()
	}
}

// floods is what TestFaultTerminalFlood does: as often as F29 asks, and as much as fits.
func floods() (times, mib int) {
	if need.Soak() {
		return 20, 256
	}
	return 20, 16
}

// Not a byte is lost of a job that writes as fast as it can and exits at once.
func TestFaultTerminalFlood(t *testing.T) {
	r := newRig(t)
	times, mib := floods()
	want := sha256.New()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte('a' + i%23)
	}
	for range mib {
		want.Write(block)
	}
	file := t.TempDir() + "/block"
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range times {
		s := r.terminalSpec(fmt.Sprintf("stty -opost; for ((i = 0; i < %d; i++)); do cat %s; done; exit 7", mib, file))
		if i%2 == 0 {
			s.Log.Inline = 1 << 20
		}
		e := r.start(s)
		x := e.over()
		if x.Status.Code != 7 || x.Sizes[0] != int64(mib)<<20 || x.OutputOpen || len(x.Flags) > 0 {
			t.Fatalf("%d: %+v", i, x)
		}
		got := sha256.New()
		log := r.log(e, messages.Merged)
		if _, err := io.Copy(got, io.NewSectionReader(log, 0, x.Sizes[0])); err != nil {
			t.Fatal(err)
		}
		log.Close()
		if string(got.Sum(nil)) != string(want.Sum(nil)) {
			t.Fatalf("%d: other bytes came than were written", i)
		}
		e.proc.Settle(1 << 60)
		if err := r.store.Remove(string(e.id)); err != nil {
			t.Fatal(err)
		}
	}
}

// What was left in a terminal of 19 KB when its job exited is in the log (F29, R-271).
func TestFaultTerminalExitsWithoutWaiting(t *testing.T) {
	r := newRig(t)
	for range 30 {
		e := r.onTerminal("stty -opost; printf '%19000s' ''")
		if x := e.over(); x.Sizes[0] != 19000 {
			t.Fatalf("%+v", x)
		}
	}
}

// A look that finds nothing in a terminal, and is held up until the job has written and
// exited, loses none of what was written meanwhile: the kernel looks for the end behind
// that for bytes.
func TestFaultTerminalEndsDuringALook(t *testing.T) {
	found, late := make(chan struct{}), make(chan struct{})
	said := false
	r := newRig(t, func(o *Options) {
		o.Store = &tapped{o.Store, func(w spill.Writer, from int, most int64) (int64, error) {
			n, err := w.Splice(from, most)
			if said = said || n > 0; !said || err != unix.EAGAIN {
				return n, err
			}
			select {
			case <-late:
				return n, err
			default:
			}
			close(found)
			<-late
			return 0, io.EOF
		}}
	})
	e := r.onTerminal("stty -opost -echo; echo up; read x; printf '%2000s' ''")
	<-found
	e.types("\n")
	j, pid := r.e.find(e.id), await[messages.ProcessStarted](e).PID
	until(t, func() bool {
		if p, ok := statProc(kernel{}, pid); ok && p.dead() && !modeNow().own {
			return true // who looks hears of exits too
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.phase >= phaseExited
	})
	close(late)
	if x := e.over(); x.Sizes[0] != 2003 || x.OutputOpen {
		t.Errorf("%+v", x)
	}
}

// Terminals that say nothing cost no goroutine.
func TestSilentTerminalsHaveNoGoroutine(t *testing.T) {
	const jobs = 60
	r := newRig(t)
	first := r.onTerminal("echo up; exec sleep 1000")
	r.says(first, "up")
	before := runtime.NumGoroutine()
	ears := []*ear{first}
	for range jobs {
		s := r.argv("sleep", "1000")
		s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80}
		ears = append(ears, r.start(s))
	}
	for _, e := range ears {
		await[messages.ProcessStarted](e)
		s := r.streams(e)[0]
		until(t, func() bool { return attended(s) })
	}
	until(t, func() bool { return runtime.NumGoroutine() <= before+20 }) // those of the starts
	for _, e := range ears {
		e.proc.Stop(client(), 0)
	}
	for _, e := range ears {
		e.over()
	}
}

// A terminal that says much gets a goroutine of its own, loses nothing by that, and
// gives it back with its end, whenever nobody has it open.
func TestTerminalBecomesChatty(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.onTerminal("stty -opost; echo up; read x; seq 300000; exec <&- >&- 2>&-; read x < " + g.path + "; exit 3")
	r.says(e, "up")
	e.types("\n")
	s := r.streams(e)[0]
	until(t, func() bool { return s.moved() >= 1_988_895+3 })
	if attended(s) {
		t.Error("it is quiet still")
	}
	g.open()
	if x := e.over(); x.Status.Code != 3 || x.Sizes[0] != 1_988_895+3+1 { // and the echo of the key
		t.Errorf("%+v", x)
	}
}

func TestTerminalIsPaused(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("stty -opost -echo; echo up; read x; seq 100000; exit 3")
	r.says(e, "up")
	e.proc.Do(backends.Pause{})
	e.types("\n")
	await[messages.InputWritten](e)
	e.proc.Do(backends.Resume{})
	if x := e.over(); x.Status.Code != 3 || x.Sizes[0] != 588_895+3 {
		t.Errorf("%+v", x)
	}
}

// A shell that somebody types to does not mind TERM; that its terminal hangs up it does.
func TestTerminalIsStopped(t *testing.T) {
	r := newRig(t)
	s := r.argv("bash", "--norc", "--noprofile", "-i")
	s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80}
	e := r.start(s)
	e.types("echo u''p\n")
	r.says(e, "up")
	e.proc.Stop(client(), 10*time.Second)
	if x := e.over(); x.Cause.Signal != "TERM" || x.Status.Signal == "KILL" {
		t.Errorf("%+v", x)
	}
	// Who is in the foreground is asked at once, though it is in another group.
	e = r.onTerminal("set -m; trap : TERM; bash -c 'trap \"echo asked; exit 6\" TERM; echo up; while :; do sleep 0.05; done'; exit $?")
	r.says(e, "up")
	e.proc.Stop(client(), time.Minute)
	x := e.over()
	if got := r.output(e, messages.Merged); x.Status.Code != 6 || !strings.Contains(got, "asked") {
		t.Errorf("%+v, %q", x, got)
	}
}

// A new owner finds the terminal as it was.
func TestTerminalIsAdopted(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("stty -echo; echo up; read x; stty size; stty -a | grep -o -- -echo\\ ; echo got $x; exit 4")
	r.says(e, "up")
	e.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 11, Cols: 22}})
	await[messages.ControlDone](e)
	second := r.adopt(e.id)
	second.types("hi\n")
	x := second.over()
	if got := r.output(second, messages.Merged); x.Status.Code != 4 || got != "up\r\n11 22\r\n-echo \r\ngot hi\r\n" {
		t.Errorf("%+v, %q", x, got)
	}
}
