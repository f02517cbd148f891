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

// Subject is a backend under test, created for each test and closed by its cleanup.
type Subject struct {
	Backend backends.Backend
	Engine  backends.Engine    // of the backend; nil: cases that need one are left out
	Reach   messages.Isolation // what a kill reaches
	Env     []string           // of every job; at least a PATH
	// Real means that jobs are processes of this machine. This enables cases for real
	// processes, and no process may remain. The TestMain of such a test binary begins
	// with hostile.Main.
	Real  bool
	Roots int // of the largest hostile tree; 0: 20
	// Shared means that jobs are commands of one live shell, one at a time. Cases that
	// need a process for each job are left out.
	Shared bool
	// Terminals means that every command has a terminal of its own.
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

// hang bounds a test, before the program ends with all goroutines shown.
const hang = 3 * time.Minute

// patience bounds the wait for a fact. On a small busy machine under the race detector
// a start may take seconds.
const patience = 60 * time.Second

// watch ends the program with a dump of all goroutines if the test hangs in a call that
// must not block.
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

// testCase checks one rule of the contract.
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
	separate   // separate streams
	input
	signals
	ownProcess // for each job
	terminals  // a command can have a terminal
	pipes      // a command has pipes by default
	attributes // later output of others never counts for another command
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
	return slices.Concat(startCases(), outputCases(), stopCases(), idleCases(), inputCases(), adoptCases(), executorCases(), processCases(), terminalCases())
}

// bench is one running test: a subject and an executor of it.
type bench struct {
	*testing.T
	Subject
	place    backends.Executor
	closings *factRecorder // facts of the executor
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

// end closes the executor and checks that no process is left.
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

// id returns a unique ULID, as far as the suite needs one: 26 characters.
func (b *bench) id() messages.UID {
	b.jobs++
	return messages.UID(fmt.Sprintf("01%016X%08X", time.Now().UnixNano(), b.jobs))
}

// Program is what a test runs.
type Program struct {
	Text string   // for bash
	Argv []string // instead of Text
}

// typed wraps a program for a terminal: output is not changed, and SIGHUP does not end
// leftovers. A shell that stays has no leftovers to protect.
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

// Words returns the name by which a fake knows a program: its text, or argv joined by
// spaces.
func (p Program) Words() string {
	if p.Text != "" {
		return p.Text
	}
	return strings.Join(p.Argv, " ")
}

// Programs returns the programs of the tests that are not for real processes only, by
// name.
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
