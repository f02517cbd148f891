package shell_test

import (
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
	"troupe/messages"
)

// A place that is let go of and opened again goes on with its shell, whether or not a
// command runs in that; one that was closed begins anew.
func TestReleasedPlaceFindsItsShellAgain(t *testing.T) {
	s := newRig(t, shell.Options{}).open("bash")
	again := func() {
		t.Helper()
		at := backends.ExecutorSpec{Scope: "main", Session: "s", Dir: "/", Env: s.env, Umask: -1, Shell: "bash"}
		place, err := s.backend.Open(at, nil, s.ear.facts)
		if err != nil {
			t.Fatal(err)
		}
		s.place = place
	}
	say := func(text, want string) {
		t.Helper()
		if out, f := s.say(text); out != want || len(f.Flags) > 0 {
			t.Errorf("%s: %q %+v, want %q", text, out, f, want)
		}
	}
	say("X=1; echo $$ > /dev/null", "")
	s.place.Release()
	again()
	say("echo $X", "1\n")

	r := s.start("echo begun; read x; X=2", func(c *backends.Command) { c.Stdio.Stdin = messages.StdinPipe })
	r.wrote("begun")
	s.place.Release()
	again()
	proc, err := s.place.Adopt(r.id, r.ear.facts)
	if err != nil {
		t.Fatal(err)
	}
	proc.Do(backends.Input{Data: []byte("\n")})
	if f := r.result(); f.Status.Code != 0 {
		t.Errorf("the command that ran ended with %+v", f)
	}
	say("echo $X", "2\n")
	if n, ok := find[messages.SessionReplaced](s.ear.all()); ok {
		t.Errorf("%+v was told of a shell that lives", n)
	}
	s.close()
	again()
	say("echo x$X", "x\n")
	s.place.Close(0)
	s.ear.until("two ends", func(heard []messages.ProcessFact) bool {
		n := 0
		for _, f := range heard {
			if _, is := f.(messages.ShellClosed); is {
				n++
			}
		}
		return n == 2
	})
}
