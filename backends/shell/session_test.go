package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/shell"
	"troupe/messages"
)

// allShells are those that the tests of sessions run in.
var allShells = []string{"bash", "dash", "zsh", "fish"}

func inAllShells(t *testing.T, test func(*testing.T, *session)) {
	inAllShellsWith(t, shell.Options{}, test)
}

func inAllShellsWith(t *testing.T, o shell.Options, test func(*testing.T, *session)) {
	for _, name := range allShells {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			s := newRig(t, o).open(name)
			test(t, s)
			s.close()
		})
	}
}

func (s *session) export(name, value string) string {
	if s.shell == "fish" {
		return "set -gx " + name + " '" + value + "'"
	}
	return "export " + name + "='" + value + "'"
}

// die ends the shell, whatever it is.
const die = "exec sh -c 'exit 4'"

// A shell that died has a successor: where it was, with what it exported and without
// what it did not have any more, and the place is told before the next command is.
func TestASuccessorKnowsWhatWasExported(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		dir := t.TempDir()
		s.say(s.export("KEPT", "a b  $x `y` \"q\" ü\n2nd"))
		s.say("cd " + dir)
		if s.shell == "fish" {
			s.say("set -e HOME")
		} else {
			s.say("unset HOME; plain=1")
		}
		if _, f := s.say(die); f.Status.Code != 4 || !slices.Contains(f.Flags, messages.FlagSessionEnded) || f.Dir != dir {
			t.Errorf("%+v", f)
		}
		if _, told := find[messages.SessionReplaced](s.ear.all()); told {
			t.Error("it is said to be replaced, and is not")
		}
		out, f := s.say("pwd; echo \"$KEPT|$HOME|$plain|$TROUPE_TREE\"")
		if want := dir + "\na b  $x `y` \"q\" ü\n2nd|||\n"; out != want || f.Status.Code != 0 || f.Dir != dir {
			t.Errorf("the successor says %q, want %q (%+v)", out, want, f)
		}
		if r, told := find[messages.SessionReplaced](s.ear.all()); !told || r.Dir != dir || r.Lost == "" {
			t.Errorf("told %+v", s.ear.all())
		}
		s.say(die)
		if out, _ := s.say("echo \"$KEPT\""); out != "a b  $x `y` \"q\" ü\n2nd\n" {
			t.Errorf("and the next one %q", out)
		}
	})
}

// An exit ends the shell with the command: nothing that it did not export is there for the
// next, which is told so.
func TestExitEndsTheShell(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		plain := "plain=1"
		if s.shell == "fish" {
			plain = "set plain 1"
		}
		s.say(s.export("KEPT", "yes") + "; " + plain)
		if out, _ := s.say("echo $KEPT $plain"); out != "yes 1\n" {
			t.Errorf("before: %q", out)
		}
		if out, f := s.say("echo bye; exit 0; echo no"); out != "bye\n" || f.Status != (messages.ExitStatus{}) || !slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%q, %+v", out, f)
		}
		if out, _ := s.say("echo $KEPT $plain"); out != "yes\n" {
			t.Errorf("behind it: %q", out)
		}
		if _, told := find[messages.SessionReplaced](s.ear.all()); !told {
			t.Error("nobody is told of the successor")
		}
	})
}

// What a command has changed before its exit is its successor's, too.
func TestWhatAnExitLeaves(t *testing.T) {
	for name, o := range map[string]shell.Options{"pipes": {}, "terminal": onTerminals} {
		for _, sh := range allShells {
			if o == onTerminals && sh == "fish" {
				continue
			}
			t.Run(name+"/"+sh, func(t *testing.T) {
				needShell(t, sh)
				s := newRig(t, o).open(sh)
				defer s.close()
				for _, c := range []struct{ dir, exit string }{{"/usr", "exit 5"}, {"/", "(exit 5); exit"}, {"/usr", "f() { exit 5; }; f"}, {"/", "set -e; (exit 5)"}} {
					if sh == "fish" {
						c.exit = "exit 5"
					}
					out, f := s.say(s.export("KEPT", c.exit) + "; cd " + c.dir + "; echo out; " + c.exit)
					if s.plain(out) != "out\n" || f.Status.Code != 5 || f.Dir != c.dir || !slices.Contains(f.Flags, messages.FlagSessionEnded) {
						t.Errorf("%s: %q, %+v", c.exit, out, f)
					}
					if out, _ := s.say("pwd; echo \"$KEPT\""); s.plain(out) != c.dir+"\n"+c.exit+"\n" {
						t.Errorf("behind %s: %q", c.exit, out)
					}
				}
			})
		}
	}
}

// A text that is longer than what a fish may read is run all the same, and so is one of
// which the user wants to know the status before.
func TestFishRunsWhatItMayNotRead(t *testing.T) {
	needShell(t, "fish")
	s := newRig(t, shell.Options{}).open("fish")
	s.say("set -gx KEPT " + strings.Repeat("k", 60) + "; set -g fish_read_limit 50; false")
	if out, _ := s.say("echo $status; echo " + strings.Repeat("a", 60)); out != "1\n"+strings.Repeat("a", 60)+"\n" {
		t.Errorf("a long one: %q", out)
	}
	s.say("false")
	if out, _ := s.say("echo $status"); out != "1\n" {
		t.Errorf("a short one: %q", out)
	}
	s.say(die)
	if out, _ := s.say("echo $KEPT"); out != strings.Repeat("k", 60)+"\n" {
		t.Errorf("its successor has %q", out)
	}
	s.close()
}

// One whose directory has vanished starts where the session began.
func TestASuccessorWithoutItsDirectory(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		first, _ := s.say("pwd")
		dir := filepath.Join(t.TempDir(), "gone")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s.say("cd " + dir)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		s.say(die)
		if out, f := s.say("pwd"); out != first || f.Status.Code != 0 {
			t.Errorf("it is in %q, the session began in %q", out, first)
		}
	})
}

// What a command wants before stays, as if it had been typed.
func TestDirectoryAndVariablesOfACommand(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		with := func(c *backends.Command) { c.Dir, c.Env = "/usr", []string{"A=x y", "B='"} }
		out, f := s.say("pwd; echo \"$A$B\"", with)
		if out != "/usr\nx y'\n" || f.Dir != "/usr" {
			t.Errorf("%q, %+v", out, f)
		}
		if out, _ = s.say("sh -c 'pwd; echo \"$A$B\"'"); out != "/usr\nx y'\n" {
			t.Errorf("and then %q", out)
		}
		out, f = s.say("echo rea''ched", func(c *backends.Command) { c.Dir = "/nowhere/at/all" })
		if strings.Contains(out, "reached") || f.Status.Code == 0 || f.Dir != "/usr" {
			t.Errorf("in a directory that is not there: %q, %+v", out, f)
		}
		if out, _ = s.say("", func(c *backends.Command) { c.Argv = []string{"printf", "%s|", "a b", "$A", "'"} }); out != "a b|$A|'|" {
			t.Errorf("an argv: %q", out)
		}
	})
}

// What is left in the background is another command's neither in its output nor in its
// end: a stop of a later one spares it.
func TestBackgroundOfAnEarlierCommand(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		start := filepath.Join(t.TempDir(), "go")
		first := s.start("sh -c 'until [ -e " + start + " ]; do sleep 0.02; done; echo late' & echo now")
		if f := first.result(); f.Children == 0 || !f.OutputOpen || f.Status.Code != 0 {
			t.Errorf("%+v", f)
		}
		second := s.start("sh -c 'echo ready; exec sleep 60'")
		second.wrote("ready")
		second.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0)
		if f := second.over(); f.Cause.By != messages.ByClient || len(f.Survivors) > 0 || slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%+v", f)
		}
		third := s.start("sleep 60 &", func(c *backends.Command) { c.OnExit = messages.KillChildren })
		third.over()
		if err := os.WriteFile(start, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		first.over()
		if out := first.output(messages.Merged); out != "now\nlate\n" {
			t.Errorf("the first wrote %q", out)
		}
		if out, _ := s.say("echo x"); out != "x\n" {
			t.Errorf("behind them %q", out)
		}
	})
}

// A stop goes on with what a command left, when its shell has come back: it gets its TERM
// at once, and the cause names that.
func TestAStopGoesOnWithWhatIsLeft(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		run := s.start(`sh -c 'trap "" INT; trap "echo got TERM; exit 4" TERM; echo ready; while :; do sleep 0.02; done' & sleep 60`)
		run.wrote("ready")
		run.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, time.Minute)
		if f := run.over(); f.Cause.Signal != "TERM" || len(f.Survivors) > 0 || slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%+v", f)
		}
		if out := run.output(messages.Merged); !strings.HasSuffix(out, "got TERM\n") { // its sleep has got it, too
			t.Errorf("it wrote %q", out)
		}
		if out, _ := s.say("echo x"); out != "x\n" {
			t.Errorf("behind it %q", out)
		}
	})
}

// Streams can be apart.
func TestStreamsApart(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		for range 2 {
			r := s.start("echo out; sh -c 'echo err >&2'", func(c *backends.Command) { c.Stdio.Streams = messages.SeparateStreams })
			r.over()
			if out, err := r.output(messages.Stdout), r.output(messages.Stderr); out != "out\n" || err != "err\n" {
				t.Errorf("%q and %q", out, err)
			}
			if out, _ := s.say("echo both; sh -c 'echo both >&2'"); out != "both\nboth\n" {
				t.Errorf("merged: %q", out)
			}
		}
	})
}

// A place that is closed ends what runs in it and what was left, with its cause.
func TestCloseEndsWhatRuns(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		s.say("sleep 60 &")
		r := s.start("sh -c 'trap \"\" TERM INT HUP; echo ready; sleep 60; sleep 60'")
		r.wrote("ready")
		s.place.Close(100 * time.Millisecond)
		if f := r.over(); f.Cause.By != messages.ByScope || !slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%+v", f)
		}
		if f := await[messages.ShellClosed](s.ear); len(f.Survivors) > 0 {
			t.Errorf("%+v", f)
		}
		late := newEar(t)
		s.place.Start(backends.Command{ID: newID(), Text: "echo no"}, late.facts)
		if f := await[messages.ProcessFailed](late); f.Err.Code != messages.SessionClosedCode {
			t.Errorf("%+v", f)
		}
	})
}

// A place that is opened around what the engine holds goes on with the shell: its
// command, its variables, its directory.
func TestAPlaceIsOpenedAgain(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		s.say(s.export("KEPT", "yes") + "; cd /usr")
		start := filepath.Join(t.TempDir(), "go")
		r := s.start("sh -c 'echo ready; until [ -e " + start + " ]; do sleep 0.02; done; echo end; exit 3'")
		r.wrote("ready")
		r.proc.Release()
		s.place.Release()
		held, err := s.engine.Inventory(t.Context())
		if err != nil || len(held) != 3 { // the shell and two commands
			t.Fatalf("%d jobs, %v", len(held), err)
		}
		at := backends.ExecutorSpec{}
		for _, h := range held {
			if p, name, ok := backends.ReadShellMeta(h.Meta); ok && name == shell.Name {
				at = p
			}
		}
		if at.Session != "s" || at.Scope != "main" || at.Shell != s.shell || at.Env != nil {
			t.Errorf("the meta of the shell says %+v", at)
		}
		s.ear = newEar(t)
		if s.place, err = s.backend.Open(at, held, s.ear.facts); err != nil {
			t.Fatal(err)
		}
		again := &run{session: s, id: r.id, ear: newEar(t)}
		if again.proc, err = s.place.Adopt(r.id, again.ear.facts); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(start, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if f := again.over(); f.Status.Code != 3 || again.output(messages.Merged) != "ready\nend\n" {
			t.Errorf("%+v, %q", f, again.output(messages.Merged))
		}
		if out, _ := s.say("echo $KEPT; pwd"); out != "yes\n/usr\n" {
			t.Errorf("it goes on with %q", out)
		}
		s.say(die) // its environment is nowhere but with the shell
		if out, _ := s.say("echo $KEPT; pwd"); out != "yes\n/usr\n" {
			t.Errorf("the successor with %q", out)
		}
	})
}

// A shell that does not come up is an error with what it printed, in time. One that had
// no time to print anything, on a busy machine, is given more.
func TestAShellThatDoesNotComeUp(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"it exits", "#!/bin/sh\necho it has no mind >&2\nexit 3\n", "it printed: it has no mind"},
		{"it hangs", "#!/bin/sh\necho thinking\nexec sleep 600\n", "was not ready within %s; it printed: thinking"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bash")
			if err := os.WriteFile(path, []byte(c.text), 0o700); err != nil {
				t.Fatal(err)
			}
			within, f := 300*time.Millisecond, messages.ProcessFailed{}
			for ; within < patience && !strings.Contains(f.Err.Message, "it printed"); within *= 4 {
				s := newRig(t, shell.Options{Within: within}).open(path)
				await[messages.ProcessFailed](s.start("echo no").ear)
				f = await[messages.ProcessFailed](s.start("echo no").ear) // the next one does no better
				s.close()
			}
			says := strings.ReplaceAll(c.says, "%s", (within / 4).String())
			if f.Err.Code != messages.SpawnFailed || f.Err.Reason != "shell_start" || !strings.Contains(f.Err.Message, says) || f.Err.Hint == "" {
				t.Errorf("%+v, want %q", f, says)
			}
		})
	}
}

// What cannot be is refused before anything is made of it.
func TestBadInputInALiveShell(t *testing.T) {
	r := newRig(t, shell.Options{})
	for _, name := range []string{"python3", "./bash", "/bin/ls"} {
		if _, err := r.backend.Open(backends.ExecutorSpec{Shell: name}, nil, nil); !errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "invalid_shell"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := r.open("bash")
	for _, c := range []struct {
		name    string
		command backends.Command
		code    messages.Code
	}{
		{"nothing", backends.Command{}, messages.InvalidParams},
		{"a terminal", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Rows: 1, Cols: 1}}}, messages.Unsupported},
		{"detached", backends.Command{Text: "true", Detach: true}, messages.Unsupported},
		{"kept children", backends.Command{Text: "true", OnExit: messages.KeepChildren}, messages.Unsupported},
		{"the host's input", backends.Command{Text: "true", Stdio: backends.Stdio{Stdin: messages.StdinHost}}, messages.Unsupported},
		{"a relative directory", backends.Command{Text: "true", Dir: "x"}, messages.InvalidParams},
		{"another shell", backends.Command{Text: "true", Shell: "zsh"}, messages.Conflict},
	} {
		if err := s.place.Check(c.command); err == nil || err.Code != c.code || err.Message == "" || s.place.Runnable(c.command) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if s.place.Runnable(backends.Command{Text: "true"}) {
		t.Error("it is sure of a shell that is not there")
	}
	s.say("true")
	if !s.place.Runnable(backends.Command{Text: "true"}) {
		t.Error("it is not sure of a shell that is there")
	}
	s.close()
	bare := r.open("bash", func(p *backends.ExecutorSpec) { p.Dir = "/nowhere" })
	late := newEar(t)
	bare.place.Start(backends.Command{ID: newID(), Text: "true"}, late.facts)
	if f := await[messages.ProcessFailed](late); f.Err.Code != messages.CwdNotFound {
		t.Errorf("%+v", f)
	}
	bare.close()
}
