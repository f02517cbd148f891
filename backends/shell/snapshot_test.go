package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
	"troupe/backends/snapshot"
	"troupe/messages"
)

// told is a maker played by a test: it answers when the test does.
type told struct {
	asked  chan string
	answer chan told1
}

type told1 struct {
	file string
	why  *messages.Error
}

func newTold() *told { return &told{asked: make(chan string, 64), answer: make(chan told1, 8)} }

func (m *told) Of(ctx context.Context, path string, _ []string) (string, *messages.Error) {
	m.asked <- path
	select {
	case a := <-m.answer:
		return a.file, a.why
	case <-ctx.Done():
		return "", &messages.Error{Code: messages.Unsupported, Reason: "snapshot", Message: "it was not waited for"}
	}
}

func (s *session) file(text string) string {
	s.Helper()
	file := filepath.Join(s.TempDir(), "it's a snapshot.sh")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return file
}

// A shell takes up the snapshot before its first command, and so does the next one, which
// keeps the PATH of the one before it. Start does not wait for it.
func TestShellsTakeUpASnapshot(t *testing.T) {
	for _, name := range []string{"bash", "zsh", "dash"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			m := newTold()
			s := newRig(t, shell.Options{Snapshots: m}).open(name)
			file := s.file("greet() { echo hello $1; }\nalias hi=greet\nexport PATH=$PATH:/theirs\n")
			r := s.start("hi you; greet all; case $PATH in *:/theirs) echo path; esac")
			if path := <-m.asked; filepath.Base(path) != name || !filepath.IsAbs(path) {
				t.Errorf("asked for %q", path)
			}
			if _, early := find[messages.ProcessStarted](r.all()); early || len(r.ear.all()) > 0 {
				t.Errorf("it has begun without: %+v", r.ear.all())
			}
			m.answer <- told1{file: file}
			f := r.result()
			if out := r.output(messages.Merged); f.Status.Code != 0 || !strings.HasSuffix(out, "hello all\npath\n") || name != "zsh" && !strings.HasPrefix(out, "hello you\n") {
				t.Errorf("%q, %+v", out, f)
			}
			if tried, ok := find[messages.SnapshotTried](s.ear.all()); !ok || tried.Err != (messages.Error{}) {
				t.Errorf("told %+v", s.ear.all())
			}
			s.say("PATH=/mine:/usr/bin:/bin")
			s.say(die)
			m.answer <- told1{file: file}
			if out, _ := s.say("greet again; echo $PATH"); out != "hello again\n/mine:/usr/bin:/bin\n" {
				t.Errorf("the next says %q", out)
			}
			s.close()
		})
	}
}

// A person's own PATH is not changed.
func TestASnapshotLeavesTheCallersPath(t *testing.T) {
	m := newTold()
	s := newRig(t, shell.Options{Snapshots: m}).open("bash", func(p *backends.ExecutorSpec) { p.OwnPath = true })
	m.answer <- told1{file: s.file("PATH=/theirs\n")}
	if out, _ := s.say("echo $PATH"); out != strings.TrimPrefix(s.env[0], "PATH=")+"\n" {
		t.Errorf("PATH is %q", out)
	}
	s.close()
}

// Without one the shell begins all the same, and the reason is told. A user who has set up
// nothing is told nothing, and of a shell that has none nobody asks.
func TestShellsBeginWithoutASnapshot(t *testing.T) {
	why := messages.Error{Code: messages.Unsupported, Reason: "snapshot", Message: "it hangs"}
	for name, c := range map[string]struct {
		shell  string
		answer told1
		want   []messages.ProcessFact
		asks   int
	}{
		"failed":     {"bash", told1{why: &why}, []messages.ProcessFact{messages.SnapshotTried{Err: why}}, 1},
		"of nothing": {"bash", told1{}, nil, 1},
		"gone":       {"bash", told1{file: "/nowhere/at/all"}, []messages.ProcessFact{messages.SnapshotTried{}}, 1},
		"fish":       {"fish", told1{}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			needShell(t, c.shell)
			m := newTold()
			s := newRig(t, shell.Options{Snapshots: m}).open(c.shell)
			m.answer <- c.answer
			if out, f := s.say("echo here"); out != "here\n" || f.Status.Code != 0 {
				t.Errorf("%q, %+v", out, f)
			}
			s.say("true")
			got := s.ear.all()
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
				t.Errorf("told %+v, want %+v", got, c.want)
			}
			if len(m.asked) != c.asks {
				t.Errorf("asked %d times, want %d", len(m.asked), c.asks)
			}
			s.close()
		})
	}
}

// A place that is closed while a command waits for the snapshot closes at once, and the
// command has not run.
func TestCloseWhileASnapshotIsMade(t *testing.T) {
	m := newTold()
	s := newRig(t, shell.Options{Snapshots: m}).open("bash")
	r := s.start("echo never")
	<-m.asked
	s.close()
	f := await[messages.ProcessFailed](r.ear)
	if f.Err.Code != messages.SessionClosedCode || len(m.answer) != 0 {
		t.Errorf("%+v", f)
	}
}

// A command that is asked while it waits for the snapshot is asked when it runs; one that
// somebody else takes over meanwhile runs once, for the one who has it then.
func TestACommandThatWaitsForASnapshot(t *testing.T) {
	m := newTold()
	s := newRig(t, shell.Options{Snapshots: m}).open("bash")
	r := s.start("sleep 600")
	<-m.asked
	r.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "not wanted"}, 0)
	m.answer <- told1{}
	if f := await[messages.ProcessFailed](r.ear); f.Err.Reason != "stopped" {
		t.Errorf("%+v", f)
	}
	r.proc.Settle(await[messages.ProcessFailed](r.ear).Seq)
	s.close()

	s = newRig(t, shell.Options{Snapshots: m}).open("bash")
	c := backends.Command{ID: newID(), Text: "echo once >> ran; cat ran", Umask: -1, Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams}}
	first := newEar(s)
	s.place.Start(c, first.facts).Release()
	second := &run{session: s, id: c.ID, ear: newEar(s)}
	second.proc = s.place.Start(c, second.ear.facts)
	<-m.asked
	<-m.asked
	m.answer <- told1{}
	m.answer <- told1{}
	second.result()
	if out := second.output(messages.Merged); out != "once\n" || len(first.all()) > 0 {
		t.Errorf("%q; the one before heard %+v", out, first.all())
	}
	s.close()
}

// Each option that a snapshot may set leaves the shell able to run what follows.
func TestOptionsOfASnapshotDoNotHinderTheDriver(t *testing.T) {
	options := map[string][]string{
		"bash": {
			"set -o noclobber", "set -o physical", "set -o pipefail", "shopt -s cdable_vars dotglob extglob", "shopt -s failglob", "shopt -s globstar lastpipe",
			"shopt -s localvar_inherit nocaseglob", "shopt -s nocasematch", "shopt -s nullglob", "shopt -s xpg_echo", "shopt -s expand_aliases",
		},
		"zsh": {
			"setopt braceccl bsdecho cdablevars chaselinks", "unsetopt bareglobqual caseglob casematch", "unsetopt clobber", "setopt cshnullglob", "unsetopt equals",
			"setopt extendedglob", "setopt globdots interactivecomments kshglob", "setopt magicequalsubst", "unsetopt multios", "unsetopt nomatch", "setopt nullglob",
			"setopt numericglobsort pipefail", "setopt rcexpandparam", "setopt shwordsplit",
		},
		"dash": {"set -o noclobber"},
	}
	for name, list := range options {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			m := newTold()
			r := newRig(t, shell.Options{Snapshots: m})
			for _, option := range list {
				s := r.open(name)
				m.answer <- told1{file: s.file(option + "\n")}
				if out, f := s.say("echo one; (exit 3)"); out != "one\n" || f.Status.Code != 3 {
					t.Errorf("under %s: %q, %+v", option, out, f)
				}
				in := s.start("cat; echo end", func(c *backends.Command) { c.Stdio.Stdin = messages.StdinPipe })
				in.proc.Do(backends.Input{Data: []byte("in\n")})
				in.proc.Do(backends.CloseInput{})
				if in.result(); in.output(messages.Merged) != "in\nend\n" {
					t.Errorf("under %s: %q", option, in.output(messages.Merged))
				}
				apart := s.start("echo out; echo err >&2", func(c *backends.Command) { c.Stdio.Streams = messages.SeparateStreams })
				if apart.result(); apart.output(messages.Stdout) != "out\n" || apart.output(messages.Stderr) != "err\n" {
					t.Errorf("under %s: apart %q and %q", option, apart.output(messages.Stdout), apart.output(messages.Stderr))
				}
				s.close()
			}
		})
	}
}

// What a real user's file sets up is there.
func TestAUsersShell(t *testing.T) {
	r := newRig(t, shell.Options{})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("case $- in *i*) ;; *) return ;; esac\nalias hi='echo hello'\nf() { _helper \"$@\"; }\n_helper() { echo \"f $*\"; }\nshopt -s nocasematch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	maker := snapshot.New(r.engine, snapshot.Options{Dir: r.store.Dir, NewID: newID, Forget: func(id messages.UID) { _ = r.store.Remove(string(id)) }})
	s := (&rig{TB: t, engine: r.engine, store: r.store, root: r.root, backend: shell.New(r.engine, shell.Options{Snapshots: maker, Prefix: "LC_ALL=C"})}).open(
		"bash", func(p *backends.ExecutorSpec) { p.Env = append(p.Env, "HOME="+home) })
	if out, _ := s.say("hi you"); !strings.Contains(out, "hello you") {
		t.Errorf("the alias says %q", out)
	}
	if out, _ := s.say("f x; [[ A == a ]] && echo same"); out != "f x\nsame\n" {
		t.Errorf("the function and the option say %q", out)
	}
	s.close()
	if err := maker.Close(); err != nil {
		t.Error(err)
	}
}

// The prefix stands before what is run, of a text and not of a program.
func TestPrefixInALiveShell(t *testing.T) {
	inAllShellsWith(t, shell.Options{Prefix: "env MARK=prefixed"}, func(t *testing.T, s *session) {
		if out, _ := s.say("sh -c 'echo $MARK'"); out != "prefixed\n" {
			t.Errorf("a text has %q", out)
		}
		if out, _ := s.say("", func(c *backends.Command) { c.Argv = []string{"sh", "-c", "echo :$MARK:"} }); out != "::\n" {
			t.Errorf("a program has %q", out)
		}
	})
}
