package shell_test

import (
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
)

// kept is how often the bash has kept what it exports.
func (s *session) kept() string {
	s.Helper()
	out, _ := s.say("echo $__troupe_k")
	return strings.TrimSpace(out)
}

// A bash keeps what it exports behind a command that may change it, and behind no other:
// that costs more than the command.
func TestExportsAreKeptWhenTheyMayHaveChanged(t *testing.T) {
	for name, o := range map[string]shell.Options{"pipes": {}, "terminal": onTerminals} {
		t.Run(name, func(t *testing.T) {
			s := newRig(t, o).open("bash")
			defer s.close()
			for _, c := range []struct{ text, kept string }{
				{":", "0"},
				{"cd / && ls | head -1", "0"},
				{"A=0 env", "0"},
				{"export A=1", "1"},
				{"echo $A", "1"},
				{"for A in 2; do :; done", "2"},
				{strings.Repeat("# long\n", 1<<10), "3"}, // there is no letter for it
			} {
				s.say(c.text)
				if got := s.kept(); got != c.kept {
					t.Errorf("behind %.20q it has kept %s times, want %s", c.text, got, c.kept)
				}
			}
			s.say("f() { export A=3; }")
			s.say("f")
			s.say(die)
			if out, _ := s.say("echo $A"); strings.TrimSpace(out) != "3" {
				t.Errorf("the successor has A=%q, want what the function made of it", out)
			}
			if got := s.kept(); got == "0" {
				t.Error("the successor does not go on counting")
			}
			s.say(die) // it has kept nothing itself
			if out, _ := s.say("echo $A"); strings.TrimSpace(out) != "3" {
				t.Errorf("the successor of the successor has A=%q, want 3", out)
			}
		})
	}
}

// Where words may mean something else from the start nothing is told by them.
func TestExportsAreKeptWhereWordsMayMeanAnything(t *testing.T) {
	for _, from := range []string{"BASH_FUNC_ls%%=() { export A=2; }", "SHELLOPTS=allexport", "BASHOPTS=lastpipe", "PS4=${A:=2}", "POSIXLY_CORRECT=1"} {
		t.Run(from[:strings.IndexByte(from, '=')], func(t *testing.T) {
			s := newRig(t, shell.Options{}).open("bash", func(at *backends.ExecutorSpec) { at.Env = append(at.Env, from) })
			defer s.close()
			s.say("ls")
			if got := s.kept(); got != "1" {
				t.Errorf("it has kept %s times, want once", got)
			}
		})
	}
}

// The drivers split words of their own: by no IFS of the user's, which may be exported.
func TestASuccessorUnderAnotherIFS(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		usual, _ := s.say(`printf %s "$IFS" | od -c`)
		unset := func(name string) string {
			if s.shell == "fish" {
				return "set -e " + name
			}
			return "unset " + name
		}
		for _, ifs := range []string{"", "_E\n0123456789"} {
			s.say(s.export("IFS", ifs))
			s.say(s.export("KEPT_0", "a_0E") + "; " + s.export("GONE_1", "x"))
			s.say(unset("GONE_1"))
			s.say(die)
			if out, _ := s.say(`echo "$KEPT_0|$GONE_1"; printf %s "$IFS"`); out != "a_0E|\n"+ifs {
				t.Errorf("with %q the successor says %q", ifs, out)
			}
		}
		s.say(unset("IFS"))
		s.say(die)
		if out, _ := s.say(`printf %s "$IFS" | od -c`); out != usual {
			t.Errorf("without one it has %q, not %q", out, usual)
		}
	})
}
