package fake_test

import (
	"testing"
	"time"

	"troupe/internal/test/conformance"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// The fake keeps the promises that the real ones keep.
func TestConformance(t *testing.T) {
	lives := scripts()
	byWords := map[string]*fake.Script{}
	for name, p := range conformance.Programs() {
		if lives[name] == nil {
			t.Errorf("nobody plays %q", name)
		}
		byWords[p.Words()] = lives[name]
	}
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		e := fake.New(fake.Options{Auto: func(text string) *fake.Script { return byWords[text] }})
		t.Cleanup(func() {
			e.Close(false)
			if v := e.Violations(); len(v) > 0 {
				t.Errorf("the suite breaks the contract: %q", v)
			}
		})
		return conformance.Subject{Backend: e.Backend(), Engine: e, Reach: messages.InCgroup}
	})
}

const (
	soon  = 5 * time.Millisecond
	later = 50 * time.Millisecond
)

// says is a life of words and a quick end.
func says(code int, steps ...fake.Step) *fake.Script {
	return &fake.Script{Begin: soon, Nature: fake.Obedient, Steps: append(steps, fake.Exit(soon, code))}
}

func merged(text string) fake.Step { return fake.Write(0, messages.Merged, text) }

func failing(shell int, reason string) *fake.Script {
	return &fake.Script{Begin: soon, Shell: shell, Fail: &messages.Error{Code: messages.SpawnFailed, Reason: reason, Message: "no"}}
}

func signalled(name string) *fake.Script {
	return &fake.Script{Begin: soon, Steps: []fake.Step{fake.ExitSignal(soon, name)}}
}

// waits is a life that says "ready" and then waits for what it is asked.
func waits(s fake.Script) *fake.Script {
	s.Begin, s.Steps = soon, append([]fake.Step{merged("ready\n")}, s.Steps...)
	return &s
}

// to writes to the streams that the process has.
func to(s messages.Stream, text string) fake.Step {
	return fake.Step{Play: func(p *fake.Process) bool {
		return p.Write(s, text) || p.Write(messages.Merged, text)
	}}
}

// awaits input as a process that reads.
var awaits = fake.Step{Play: func(p *fake.Process) bool { return p.AwaitInput(true) }}

func scripts() map[string]*fake.Script {
	slow := []fake.Step{}
	for _, line := range []string{"1\n", "2\n", "3\n", "4\n", "5\n"} {
		slow = append(slow, fake.Write(later, messages.Merged, line))
	}
	held := says(0, merged("hi\n"))
	held.Leave = fake.Children{N: 1, Output: true}
	late := says(0, merged("now\n"))
	late.Leave = held.Leave
	late.Steps = append(late.Steps, fake.Write(later, messages.Merged, "late\n"), fake.EndTree(soon))
	return map[string]*fake.Script{
		"hello": says(0, to(messages.Stdout, "hello\n")), "three": says(3), "255": says(255),
		"kill self": signalled("KILL"), "term self": signalled("TERM"), "crash": signalled("SEGV"),
		"no file": failing(127, "ENOENT"), "no program": failing(127, "ENOENT"),
		"directory": failing(126, "EACCES"), "no rights": failing(126, "EACCES"),
		"both":  says(0, to(messages.Stdout, "out\n"), to(messages.Stderr, "err\n"), to(messages.Stdout, "more\n")),
		"60 KB": says(0, merged(string(spaces(61440)))),
		"late":  late, "held": held, "shut": says(4),
		"slow":   waits(fake.Script{Nature: fake.Obedient, Steps: append(slow, fake.Exit(0, 0))}),
		"sleep":  waits(fake.Script{Nature: fake.Obedient}),
		"ignore": waits(fake.Script{}),
		"obey": waits(fake.Script{Signal: func(p *fake.Process, name string) {
			p.Write(messages.Merged, "bye\n")
			p.Exit(7)
		}}),
		"bad child": waits(fake.Script{
			Leave:  fake.Children{N: 1, Output: true, Stubborn: true},
			Signal: func(p *fake.Process, _ string) { p.Exit(5) },
		}),
		"stopped": waits(fake.Script{Nature: fake.Obedient}),
		"cat": {Begin: soon, Steps: []fake.Step{awaits}, Input: func(p *fake.Process, data string, closed bool) {
			p.AwaitInput(false)
			p.Write(messages.Merged, data)
			if closed {
				p.Exit(0)
				return
			}
			p.AwaitInput(true)
		}},
		"read": says(0, merged("status 1\n")),
		"usr1": waits(fake.Script{Signal: func(p *fake.Process, name string) {
			if name == "USR1" {
				p.Write(messages.Merged, "got\n")
			}
		}}),
		"burst": waits(fake.Script{Input: func(p *fake.Process, _ string, _ bool) {
			p.Write(messages.Merged, string(spaces(200_000)))
			exitWhenWritten(p)
		}}),
	}
}

// exitWhenWritten plays a process that blocks on its own output.
func exitWhenWritten(p *fake.Process) {
	time.AfterFunc(soon, func() {
		if p.Pending() > 0 {
			exitWhenWritten(p)
			return
		}
		p.Exit(0)
	})
}

func spaces(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = ' '
	}
	return text
}
