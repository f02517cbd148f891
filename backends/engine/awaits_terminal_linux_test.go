package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
)

// asked are the waits that were said, in order: "wait", "secret" and "go".
func asked(e *ear) (list []string) {
	for _, f := range e.all() {
		if f, ok := f.(messages.InputWaiting); ok {
			word := "go"
			if f.Secret {
				word = "secret"
			} else if f.Waiting {
				word = "wait"
			}
			list = append(list, word)
		}
	}
	return list
}

// waitsFor waits until so much was said of the job's waits.
func (e *ear) waitsFor(said ...string) {
	e.t.Helper()
	e.hears("wait for input", func([]messages.ProcessFact) bool { return len(asked(e)) >= len(said) })
	if got := asked(e); !slices.Equal(got[:len(said)], said) {
		e.t.Errorf("%s: said %v, want %v", e.id, got, said)
	}
}

// Whoever waits for something to be typed is seen, in a read, a poll or a select, and
// whether it would be shown.
func TestTerminalAwaitsInput(t *testing.T) {
	for name, c := range map[string]struct{ text, first string }{
		"shell":       {"read x; echo got $x", "wait"},
		"cat":         {"exec head -n 1", "wait"},
		"by name":     {"read x < /dev/tty; echo $x", "wait"},
		"child":       {"bash -c 'read x; echo $x'; true", "wait"},
		"foreground":  {"set -m; bash -c 'read x; echo $x'; true", "wait"},
		"password":    {"read -s x; echo $x", "secret"},
		"readline":    {"read -e x; echo $x", "wait"},
		"poll":        {"exec python3 -c 'import select; p = select.poll(); p.register(0, select.POLLIN); p.poll(); print(input())'", "wait"},
		"select":      {"exec python3 -c 'import select; select.select([0], [], []); print(input())'", "wait"},
		"getpass":     {"exec python3 -c 'import getpass; print(getpass.getpass())'", "secret"},
		"thread":      {"exec python3 -c 'import threading as t; x = t.Thread(target=lambda: print(input())); x.start(); x.join()'", "wait"},
		"interactive": {"exec bash --norc --noprofile -i", "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.text, "python3") {
				need.Program(t, "python3")
			}
			r := newRig(t)
			e := r.onTerminal(c.text)
			e.proc.Do(backends.CheckInput{For: time.Minute})
			e.waitsFor(c.first)
			if name == "interactive" {
				e.types("exit\n")
			} else {
				e.types("hello\n")
			}
			e.waitsFor(c.first, "go")
			e.over()
			if got := r.output(e, messages.Merged); !strings.Contains(got, "hello") && name != "interactive" {
				t.Errorf("%q", got)
			}
		})
	}
}

// Who does something else does not wait for what is typed, whatever it has open.
func TestTerminalAwaitsNoInput(t *testing.T) {
	for name, text := range map[string]string{
		"asleep":         "sleep 100; true",
		"tail":           "exec tail -f /dev/null",
		"busy":           "while :; do :; done",
		"a pipe":         "sleep 100 | cat",
		"background":     "set -m; cat & wait; sleep 100",
		"for a while":    "exec python3 -c 'import select\nwhile True: select.select([0], [], [], 0.5)'",
		"something else": "exec python3 -c 'import select, os\nr, w = os.pipe()\nselect.select([0, r], [], [])'",
		"to write":       "exec python3 -c 'import select, os\nr, w = os.pipe()\np = select.poll(); p.register(0, select.POLLIN); p.register(r, select.POLLPRI); p.poll()'",
		"raw, asleep":    "stty raw -echo; exec sleep 100",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(text, "python3") {
				need.Program(t, "python3")
			}
			r := newRig(t)
			e := r.onTerminal("echo up; " + text)
			r.says(e, "up")
			for range 20 { // it is on its way there
				if got, waits := e.look(); got != "done" || waits {
					t.Fatalf("%s, waits %v", got, waits)
				}
			}
			e.proc.Stop(client(), 0)
			e.over()
		})
	}
}

// What was typed and not yet read is no wait; half a line is one.
func TestTerminalHasInput(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.onTerminal("echo up; read x; read y < " + g.path + "; read z; echo $z")
	r.says(e, "up")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waitsFor("wait")
	e.types("one\ntwo\n")
	e.waitsFor("wait", "go")
	await[messages.InputWritten](e)
	for range 5 {
		if got, waits := e.look(); got != "done" || waits {
			t.Errorf("%s, waits %v", got, waits)
		}
	}
	g.open()
	e.over()
	e = r.onTerminal("read x; echo $x")
	e.types("half")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waitsFor("wait")
	e.types(" a line\n")
	e.over()
}

// Where nothing can be seen of a process, one that sleeps while its terminal hides what
// is typed asks for a password; of any other that is said.
func TestTerminalAwaitsUnseen(t *testing.T) {
	r := newRig(t, hides(&shy{hidden: []string{"/syscall"}}))
	e := r.onTerminal("read -s x; echo up; exec cat")
	e.proc.Do(backends.CheckInput{For: time.Minute})
	e.waitsFor("secret")
	e.types("x\n")
	await[messages.InputWritten](e)
	r.says(e, "up")
	for got, waits := e.look(); got != "refused unsupported"; got, waits = e.look() {
		if waits || got != "done" {
			t.Fatalf("%s, waits %v", got, waits)
		}
	}
	e.proc.Do(backends.CloseInput{})
	e.over()
}

// peerless is a kernel that gives nobody the other side of a terminal.
type peerless struct{ kernel }

func (peerless) PTYPeer(int) (int, error) { return -1, unix.EINVAL }

func TestFaultTerminalAwaitsWithoutPeer(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Sys = peerless{} })
	e := r.onTerminal("echo up; exec cat")
	r.says(e, "up")
	if got, waits := e.look(); got != "refused unsupported" || waits {
		t.Errorf("%s, waits %v", got, waits)
	}
	e.proc.Do(backends.CloseInput{})
	e.over()
}

func TestParseCall(t *testing.T) {
	for text, want := range map[string]struct {
		number int
		last   uint64
		ok     bool
	}{
		"running\n":                     {},
		"-1 0x7ffc 0x7f\n":              {},
		"7 0x1 0x2 0x3 0x4 0x5 0xff\n":  {7, 255, true},
		"7 0x1 0x2 0x3 0x4 0x5\n":       {},
		"7 0x1 0x2 0x3 0x4 0x5 99\n":    {},
		"-1 0x1 0x2 0x3 0x4 0x5 0x6\n":  {},
		"x 0x1 0x2 0x3 0x4 0x5 0x6 0\n": {},
	} {
		number, args, ok := parseCall([]byte(text))
		if ok != want.ok || ok && (number != want.number || args[5] != want.last) {
			t.Errorf("%q: %d %v %v", text, number, args, ok)
		}
	}
}

// Who runs does not wait, though nothing can be seen of it: to another user than root
// that is so with any process that ends, or begins a program.
func TestTerminalAwaitsNobodyUnseen(t *testing.T) {
	r := newRig(t, hides(&shy{hidden: []string{"/syscall"}}))
	e := r.onTerminal("stty raw -echo; echo up; while :; do :; done")
	r.says(e, "up")
	if got, waits := e.look(); got != "done" || waits {
		t.Errorf("%s, waits %v", got, waits)
	}
	e.proc.Stop(client(), 0)
	e.over()
}
