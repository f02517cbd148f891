package shell_test

import (
	"slices"
	"strings"
	"testing"

	"troupe/backends/shell"
	"troupe/messages"
)

// failing is a command under set -e, and what it must come to.
type failing struct {
	text, out string
	code      int
	only      string // the shell that it is for; "": both
}

// failures end their command where the shell would have exited, whatever they are in.
var failures = []failing{
	{text: "v=1; f() { g; echo no; }; g() { (exit 5); echo no; }\nset -e; false; echo not-reached", code: 1},
	{text: "echo v=$v; (exit 4); echo no", out: "v=1\n", code: 4},
	{text: "f; echo no", code: 5},
	{text: "( false; echo no ); echo no", code: 1},
	{text: "{ f; echo no; }; echo no", code: 5},
	{text: "for i in 1 2; do echo $i; [[ $i == 2 ]]; done; echo no", out: "1\n", code: 1},
	{text: "false | true; echo yes; true | false; echo no", out: "yes\n", code: 1},
	{text: "y=$(exit 3); echo no", code: 3},
	{text: "eval 'false; echo no'; echo no", code: 1},
	{text: "printf 'false; echo no\\n' >inner; . ./inner; echo no", code: 1},
	{text: "h() { . ./inner; echo no; }; h; echo no", code: 1},
	{text: "x=$(false; echo yes); echo $x; false", out: "yes\n", code: 1, only: "bash"},
	{text: "sh -c 'exit 7'", code: 7},
	{text: "return 3", code: 3},
	{text: "fi", code: 2, only: "bash"},
}

// passes are under set -e what a condition looks at, and what succeeds.
var passes = []failing{
	{text: "if f; then :; fi; f || echo or; ! true; echo on", out: "no\nno\nno\nno\non\n"},
	{text: "true && false || echo or", out: "or\n"},
	{text: "echo $v", out: "1\n"},
}

// With the setting, set -e ends the command, and the shell goes on with its state and with
// set -e. The result says so.
func TestErrexitKeepsTheShell(t *testing.T) {
	for _, name := range []string{"bash", "zsh"} {
		for _, o := range []shell.Options{{KeepErrexit: true}, {KeepErrexit: true, Terminal: onTerminals.Terminal}} {
			t.Run(name, func(t *testing.T) {
				needShell(t, name)
				s := newRig(t, o).open(name)
				defer s.close()
				out, _ := s.say("echo $$")
				for range 2 { // the second time, set -e holds already
					for _, c := range failures {
						if c.only != "" && c.only != name {
							continue
						}
						s.fails(c)
					}
				}
				for _, c := range passes {
					if out, f := s.say(c.text); s.plain(out) != c.out || f.Status.Code != 0 || len(f.Flags) > 0 {
						t.Errorf("%q: %q, %+v; want %q", c.text, out, f, c.out)
					}
				}
				if on, _ := s.say("case $- in *e*) echo on;; esac"); s.plain(on) != "on\n" {
					t.Errorf("set -e is off: %q", on)
				}
				if again, _ := s.say("echo $$"); again != out {
					t.Errorf("another shell: %q after %q", again, out)
				}
				if out, f := s.say("set +e; false; echo off"); s.plain(out) != "off\n" || f.Status.Code != 0 || len(f.Flags) > 0 {
					t.Errorf("set +e: %q, %+v", out, f)
				}
				if _, f := s.say("false"); f.Status.Code != 1 || len(f.Flags) > 0 {
					t.Errorf("behind it: %+v", f)
				}
			})
		}
	}
}

// fails runs a command that set -e ends.
func (s *session) fails(c failing) {
	s.Helper()
	out, f := s.say(c.text)
	out, _, _ = strings.Cut(out, "bash: line 1: syntax error")
	if s.plain(out) != c.out || f.Status.Code != c.code || !slices.Equal(f.Flags, []messages.Flag{messages.FlagErrexit}) {
		s.Errorf("%q: %q, %+v; want %q, %d", c.text, out, f, c.out, c.code)
	}
}

// What is no failed command still ends the shell: an exit, and in bash an unset variable under
// set -eu. So does set -e where the user has a trap of his own, in dash, and without the
// setting.
func TestWhatEndsTheShellUnderErrexit(t *testing.T) {
	for _, c := range []struct {
		shell, text string
		keep        bool
		code        int
	}{
		{"bash", "set -e; exit 3", true, 3},
		{"bash", "set -eu; echo $unset; echo no", true, 1},
		{"bash", "trap 'echo err' ERR; set -e; false", true, 1},
		{"bash", "set -e; false", false, 1},
		{"zsh", "set -e; exit 3", true, 3},
		{"zsh", "set -e; false", false, 1},
		{"dash", "set -e; false", true, 1},
	} {
		t.Run(c.shell, func(t *testing.T) {
			needShell(t, c.shell)
			s := newRig(t, shell.Options{KeepErrexit: c.keep}).open(c.shell)
			defer s.close()
			if out, f := s.say(c.text); f.Status.Code != c.code || !slices.Contains(f.Flags, messages.FlagSessionEnded) || slices.Contains(f.Flags, messages.FlagErrexit) || strings.Contains(out, "no") && !strings.Contains(out, "unbound") {
				t.Errorf("%q, %+v", out, f)
			}
			if out, f := s.say("echo on"); out != "on\n" || f.Status.Code != 0 {
				t.Errorf("behind it: %q, %+v", out, f)
			}
		})
	}
}

// The setting changes nothing for commands without set -e: the hostile ones still go.
func TestHostileCommandsWithErrexitKept(t *testing.T) {
	for _, name := range []string{"bash", "zsh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			r := newRig(t, shell.Options{KeepErrexit: true})
			for _, c := range append(probed(), more()...) {
				if c.only != "" && !strings.Contains(c.only, name[:1]) {
					continue
				}
				if c.name == "set -e" {
					c.ends = false
				}
				t.Run(c.name, func(t *testing.T) { r.play(t, name, c) })
			}
		})
	}
}
