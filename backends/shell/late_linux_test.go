package shell_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// Whenever in the life of a command it is interrupted or stopped, it has its result, and
// the shell lives: what it is at, taking the command, running it or telling of its end,
// is nothing that whoever interrupts can know.
func TestFaultInterruptedAtAnyMoment(t *testing.T) {
	inAllShells(t, interruptAtAnyMoment)
}

// So it is on terminals.
func TestFaultInterruptedAtAnyMomentOnATerminal(t *testing.T) {
	for _, name := range []string{"bash", "dash", "zsh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			s := newRig(t, onTerminals).open(name)
			interruptAtAnyMoment(t, s)
			s.close()
		})
	}
}

func interruptAtAnyMoment(t *testing.T, s *session) {
	const (
		commands = 400
		longest  = 3 * time.Millisecond // what a command with a child takes
	)
	ask := []func(*run){
		func(r *run) { r.proc.Do(backends.Signal{Name: "INT"}) },
		func(r *run) { r.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0) },
	}
	text := "sh -c :"
	if s.shell == "bash" {
		// One that is interrupted in the instant in which it begins to wait for a child
		// may do nothing from then on but interrupt itself (5.2, wait_sigint_handler).
		text = ":"
	}
	s.say(s.export("KEPT", "yes"))
	for i := range commands {
		r := s.start(text)
		await[messages.ProcessStarted](r.ear)
		spin(longest * time.Duration(i) / commands)
		ask[i%len(ask)](r)
		f := r.over()
		if slices.Contains(f.Flags, messages.FlagSessionEnded) && !s.crashes(f.Status) {
			t.Errorf("command %d took its shell along: %+v", i, f)
		}
		r.settle()
	}
	if _, replaced := find[messages.SessionReplaced](s.ear.all()); replaced && s.shell != "zsh" {
		t.Error("the shell has a successor")
	}
	if out, f := s.say("echo $KEPT"); !strings.HasSuffix(s.plain(out), "yes\n") || f.Status.Code != 0 {
		t.Errorf("then it says %q: %+v", out, f)
	}
}

// crashes reports whether it is the shell that aborts: a zsh (5.9) runs a trap within its
// signal handler, which may meet it in malloc or free. So it may between two commands.
func (s *session) crashes(by messages.ExitStatus) bool {
	return s.shell == "zsh" && (by.Signal == "ABRT" || by.Signal == "SEGV")
}

// spin lets a while pass that is shorter than a timer's.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
