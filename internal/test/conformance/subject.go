// Package conformance is what every kind of job must do: one suite, run by each
// backend over each engine it may stand on, and by the fake. It holds them to
// the contract of package backends, and nothing more.
//
// A test starts a Program and waits for facts. Nothing is timed but what must
// not come before its time; the bounds of what must come at all are far.
package conformance

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/hostile"
	"troupe/messages"
)

// Subject is what is tested: made anew for each test, and ended by its cleanup.
type Subject struct {
	Backend backends.Backend
	Engine  backends.Engine    // beneath it; nil: what needs one is not tested
	Reach   messages.Isolation // what a kill reaches
	Env     []string           // of every job; a PATH at least
	// Real says that jobs are processes of this machine: what only they can do is
	// tested, and nothing of them may be left. Such a test binary begins its
	// TestMain with hostile.Main.
	Real  bool
	Roots int // of the largest hostile tree; 0: 20
	// Shared says that jobs are sections of the life of one shell, one at a time: what
	// needs a process for each is not tested.
	Shared bool
	// Terminals says that every command is on a terminal of its own.
	Terminals bool
}

// Run runs the suite over subjects of one kind.
func Run(t *testing.T, subject func(t *testing.T) Subject) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			watch(t)
			s := subject(t)
			if c.fits(s) {
				c.test(newBench(t, s))
			}
		})
	}
}

// hang is how long a test may take before everything is stopped and shown.
const hang = 3 * time.Minute

// patience is how long a test waits for a fact that must come. Beside others, on
// a small machine, under the race detector, a start may take seconds.
const patience = 60 * time.Second

// watch ends the program, with all goroutines on the last page, if the test
// hangs in a call that must not wait.
func watch(t *testing.T) {
	timer := time.AfterFunc(hang, func() {
		panic(fmt.Sprintf("%s hangs\n\n%s", t.Name(), goroutines()))
	})
	t.Cleanup(func() { timer.Stop() })
}

func goroutines() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

// testCase is one promise.
type testCase struct {
	name string
	test func(*bench)
	need need
}

// need says which subjects a test is for.
type need uint16

const (
	anEngine need = 1 << iota
	realOnes
	wholeTrees // a kill reaches more than process groups
	separate   // streams
	input
	signals
	ownProcess // for each job
	terminals  // a command can be on one
	pipes      // a command is on pipes when it asks for nothing
	attributes // what others write later is never another command's
)

func (c testCase) fits(s Subject) bool {
	can := s.Backend.Can()
	for n, has := range map[need]bool{
		anEngine: s.Engine != nil, realOnes: s.Real, wholeTrees: s.Reach != messages.Group,
		separate: can.Separate, input: can.Input, signals: can.Signals, terminals: can.Terminal, pipes: !s.Terminals, ownProcess: !s.Shared,
		attributes: can.Attribute,
	} {
		if c.need&n != 0 && !has {
			return false
		}
	}
	return true
}

func cases() []testCase {
	return slices.Concat(startCases(), outputCases(), stopCases(), inputCases(), adoptCases(), executorCases(), processCases(), terminalCases())
}

// bench is one test at work: a subject, and a place of it.
type bench struct {
	*testing.T
	Subject
	place    backends.Executor
	closings *factRecorder // of the place
	marker   string
	dir      string
	jobs     int
}

func newBench(t *testing.T, s Subject) *bench {
	b := &bench{T: t, Subject: s, closings: newFactRecorder(t), dir: t.TempDir()}
	b.marker = fmt.Sprintf("TROUPE_BACKENDTEST=%d.%s", os.Getpid(), t.Name())
	b.place = b.open()
	t.Cleanup(b.end)
	return b
}

func (b *bench) open(held ...backends.InventoryJob) backends.Executor {
	b.Helper()
	place, err := b.Backend.Open(backends.ExecutorSpec{Scope: "main", Session: "test", Dir: b.dir, Env: b.env()}, held, b.closings.facts)
	if err != nil {
		b.Fatal(err)
	}
	return place
}

// end closes the place; then nothing of it may be left.
func (b *bench) end() {
	b.place.Close(0)
	b.closings.until("the end of the place", func(heard []messages.ProcessFact) bool { return count[messages.ShellClosed](heard) > 0 })
	if !b.Real {
		return
	}
	left := hostile.Find(func(pid int) bool {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err == nil && slices.Contains(strings.Split(string(env), "\x00"), b.marker)
	})
	for _, pid := range left {
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		b.Errorf("process %d is left: %q", pid, argv)
	}
}

func (b *bench) env() []string { return append(slices.Clone(b.Env), b.marker) }

// id makes a ULID, as far as the suite needs one: 26 characters, never the same.
func (b *bench) id() messages.UID {
	b.jobs++
	return messages.UID(fmt.Sprintf("01%016X%08X", time.Now().UnixNano(), b.jobs))
}

// Program is what a test runs.
type Program struct {
	Text string   // for bash
	Argv []string // instead
}

// typed is a program as it is run on a terminal that changes nothing of what it writes,
// and does not end what is left behind: of a shell that stays nothing is.
func (b *bench) typed(p Program) Program {
	plain := `stty -opost -echo; `
	if !b.Shared {
		plain = `trap '' HUP; ` + plain
	}
	if p.Text != "" {
		return Program{Text: plain + p.Text}
	}
	return Program{Argv: append([]string{"bash", "-c", plain + `exec "$@"`, "bash"}, p.Argv...)}
}

// Words are what a fake knows a program by: its text, or argv joined by spaces.
func (p Program) Words() string {
	if p.Text != "" {
		return p.Text
	}
	return strings.Join(p.Argv, " ")
}

// Programs are those of the tests that are not for real processes only, by name.
func Programs() map[string]Program { return maps.Clone(programs()) }

func programs() map[string]Program {
	return map[string]Program{
		"hello":      {Text: `echo hello`},
		"three":      {Text: `exit 3`},
		"255":        {Text: `exit 255`},
		"kill self":  {Text: `kill -KILL $$`},
		"term self":  {Text: `kill -TERM $$`},
		"crash":      {Text: `ulimit -c 0; kill -SEGV $$`},
		"no file":    {Argv: []string{"/nonexistent/troupe"}},
		"no program": {Argv: []string{"troupe-no-such-program", "x"}},
		"directory":  {Argv: []string{"/"}},
		"no rights":  {Argv: []string{"/etc/passwd"}},
		"both":       {Text: `echo out; echo err >&2; echo more`},
		"60 KB":      {Text: `printf '%61440s' ''`},
		"late":       {Text: `(until [ -e go ]; do sleep 0.05; done; echo late) & echo now`},
		"held":       {Text: `sleep 60 & echo hi`},
		"shut":       {Text: `exec >&- 2>&-; sleep 0.3; exit 4`},
		"slow":       {Text: `echo ready; for i in 1 2 3 4 5; do sleep 0.05; echo $i; done`},
		"sleep":      {Text: `echo ready; sleep 60`},
		"obey":       {Text: `trap 'echo bye; exit 7' TERM; echo ready; sleep 60 & wait`},
		"ignore":     {Text: `trap '' TERM; echo ready; sleep 60; sleep 60`},
		"bad child":  {Text: `trap 'exit 5' TERM; (trap '' TERM; echo ready; sleep 60) & wait`},
		"stopped":    {Text: `echo ready; kill -STOP $$; exit 9`},
		"cat":        {Text: `exec cat`},
		"read":       {Text: `read -r line; echo "status $?"`},
		"usr1":       {Text: `trap 'echo got' USR1; echo ready; sleep 60 & while :; do wait; done`},
		"burst":      {Text: `echo ready; read -r line; printf '%200000s' ''`},
	}
}
