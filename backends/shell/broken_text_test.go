package shell_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
)

// A syntax error has the name of the shell and the lines of the user's text, and no file of
// ours. The commands before it have run, and the session goes on.
func TestASyntaxErrorNamesTheShell(t *testing.T) {
	cases := []struct{ text, bash, zsh, dash string }{
		{"if then fi fi", "bash: line 1: syntax error near unexpected token `then'\nbash: line 1: `if then fi fi'\n", "zsh:1: parse error near `fi'\n", "%s: 1: Syntax error: \"then\" unexpected\n"},
		{"a=5\necho $a\nif\nfi\necho no", "5\nbash: line 4: syntax error near unexpected token `fi'\nbash: line 4: `fi'\n", "5\nzsh:4: parse error near `fi'\n", "5\n%s: 4: Syntax error: \"fi\" unexpected\n"},
		{"echo a; echo b; fi", "bash: line 1: syntax error near unexpected token `fi'\nbash: line 1: `echo a; echo b; fi'\n", "zsh:1: parse error near `fi'\n", "%s: 1: Syntax error: \"fi\" unexpected\n"},
		{"x=\"it's\"\necho \"$x\"\n)", "it's\nbash: line 3: syntax error near unexpected token `)'\nbash: line 3: `)'\n", "it's\nzsh:3: parse error near `)'\n", "it's\n%s: 3: Syntax error: \")\" unexpected\n"},
	}
	for _, name := range []string{"bash", "zsh", "dash", "sh"} {
		for _, o := range []shell.Options{{}, onTerminals} {
			t.Run(name, func(t *testing.T) {
				needShell(t, name)
				s := newRig(t, o).open(name)
				defer s.close()
				for _, c := range cases {
					want := strings.ReplaceAll(c.dash, "%s", name)
					switch name {
					case "bash":
						want = c.bash
					case "zsh":
						want = c.zsh
					}
					out, f := s.say(c.text)
					if out = s.plain(out); out != want || f.Status.Code == 0 || len(f.Flags) > 0 {
						t.Errorf("%q: %q, want %q (%+v)", c.text, out, want, f)
					}
				}
				if out, f := s.say("echo \"$a\""); s.plain(out) != "5\n" || f.Status.Code != 0 {
					t.Errorf("behind it: %q, %+v", out, f)
				}
			})
		}
	}
}

// The line of the directory is not shown, and the command does not run where that is missing.
func TestASyntaxErrorInADirectory(t *testing.T) {
	s := newRig(t, shell.Options{}).open("bash")
	defer s.close()
	dir := t.TempDir()
	in := func(dir string) func(*backends.Command) { return func(c *backends.Command) { c.Dir = dir } }
	if out, f := s.say("fi", in(dir)); out != "bash: line 1: syntax error near unexpected token `fi'\nbash: line 1: `fi'\n" || f.Dir != dir || f.Status.Code != 2 {
		t.Errorf("%q, %+v", out, f)
	}
	if out, f := s.say("fi", in(filepath.Join(dir, "gone"))); strings.Contains(out, "syntax") || f.Status.Code != 1 {
		t.Errorf("%q, %+v", out, f)
	}
}

// What our parser refuses and the shell does not runs in the shell, as it is: by an alias, or
// because the parser knows less.
func TestATextThatOnlyTheShellKnowsRuns(t *testing.T) {
	for name, texts := range map[string][]string{
		"bash": {"shopt -s expand_aliases; alias begin='{' end='; }'", "x=1\nbegin x=2 end\necho $x", "alias unless='if !'", "unless false; then echo 2; fi"},
		"zsh":  {"for x (1 2) { y=$x }\necho $y", "alias begin='{'", "begin echo $y }", "print -l (#i)nothing(N) $y"},
		"dash": {"alias begin='{'", "x=2\nbegin echo $x; }"},
	} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			s := newRig(t, shell.Options{}).open(name)
			defer s.close()
			for _, text := range texts {
				out, f := s.say(text)
				if !strings.HasPrefix(text, "alias") && !strings.HasPrefix(text, "shopt") && out != "2\n" || f.Status.Code != 0 {
					t.Errorf("%q: %q, %+v", text, out, f)
				}
			}
		})
	}
}

// Nothing of a broken command runs, in no shell, whatever it is.
func TestNothingOfABrokenCommandRuns(t *testing.T) {
	for _, name := range []string{"bash", "zsh", "dash", "sh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			s := newRig(t, shell.Options{}).open(name)
			defer s.close()
			trace := filepath.Join(t.TempDir(), "ran")
			if name == "bash" {
				s.say("alias ll='ls -l' set='touch " + trace + "'; set() { :; }; export -f set; shopt -s expand_aliases")
			}
			for _, text := range []string{"touch " + trace + "; fi", "$(touch " + trace + ") )", "set -x; { touch " + trace + "\nEOF\n", "`touch " + trace + "`\" \n"} {
				if _, f := s.say(text); f.Status.Code == 0 {
					t.Errorf("%q has the status 0", text)
				}
			}
			if _, err := os.Stat(trace); err == nil {
				t.Error("a command that does not parse has run")
			}
		})
	}
}

// Under set -x the words of the check are not shown, in bash.
func TestTheCheckIsNotTraced(t *testing.T) {
	s := newRig(t, shell.Options{}).open("bash")
	defer s.close()
	s.say("set -x")
	if out, _ := s.say("echo a\nfi"); !regexp.MustCompile("^\\++ echo a\na\nbash: line 2: [^\n]*\nbash: line 2: `fi'\n$").MatchString(out) {
		t.Errorf("%q", out)
	}
	if out, f := s.say("true | cat; false | true"); !regexp.MustCompile(`^(\++ (true|cat|false)\n)+$`).MatchString(out) || len(f.Pipe) != 2 {
		t.Errorf("%q, %+v", out, f)
	}
}
