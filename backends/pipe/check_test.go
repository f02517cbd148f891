package pipe_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/internal/test/fake"
	"troupe/messages"
)

func open(t *testing.T, e backends.Engine, o pipe.Options, at backends.ExecutorSpec) backends.Executor {
	t.Helper()
	s, err := pipe.New(e, o).Open(at, nil, func(messages.ProcessFact) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBadInputCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	loop := filepath.Join(dir, "loop")
	zsh := filepath.Join(dir, "zsh")
	for _, err := range []error{os.WriteFile(file, nil, 0o600), os.Symlink(loop, loop), os.WriteFile(zsh, nil, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, fake.New(fake.Options{}), pipe.Options{Shells: map[string][]string{
		"odd": {"sh", "--text"}, "nowhere": {"troupe-no-such-shell", "-c"},
	}}, backends.ExecutorSpec{})
	long := strings.Repeat("#", pipe.MaxWord+1)
	for _, c := range []struct {
		name    string
		command backends.Command
		code    messages.Code
		reason  string
		text    string
	}{
		{"text", backends.Command{Text: "true", Dir: dir}, "", "", ""},
		{"argv that does not exist is the engine's to say", backends.Command{Argv: []string{"/nowhere"}}, "", "", ""},
		{"long text", backends.Command{Text: long}, "", "", ""},
		{"shell by path", backends.Command{Text: "true", Shell: zsh}, "", "", ""},
		{"missing directory", backends.Command{Text: "true", Dir: dir + "/no"}, messages.CwdNotFound, "ENOENT", "Working directory does not exist: " + dir + "/no"},
		{"below a file", backends.Command{Text: "true", Dir: file + "/no"}, messages.CwdNotFound, "ENOTDIR", "Working directory does not exist: " + file + "/no"},
		{"a file", backends.Command{Text: "true", Dir: file}, messages.CwdNotDir, "ENOTDIR", "Working directory is not a directory: " + file},
		{"a loop", backends.Command{Text: "true", Dir: loop}, messages.CwdNotFound, "ELOOP", "Working directory cannot be entered: " + loop},
		{"relative", backends.Command{Text: "true", Dir: "x"}, messages.InvalidParams, "cwd", "not absolute"},
		{"argv too", backends.Command{Argv: []string{"true"}, Dir: file}, messages.CwdNotDir, "ENOTDIR", ""},
		{"terminal", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Rows: 1, Cols: 1}}}, "", "", ""},
		{"terminal without rows", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Cols: 1}}}, messages.InvalidParams, "invalid_size", "impossible"},
		{"terminal too wide", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Rows: 1, Cols: 65536}}}, messages.InvalidParams, "invalid_size", "65536"},
		{"detach", backends.Command{Text: "true", Detach: true}, messages.Unsupported, "detach", ""},
		{"nothing", backends.Command{}, messages.InvalidParams, "empty_command", ""},
		{"no shell", backends.Command{Text: "true", Shell: "python3"}, messages.InvalidParams, "invalid_shell", "python3"},
		{"no shell by path", backends.Command{Text: "true", Shell: "/bin/ls"}, messages.InvalidParams, "invalid_shell", ""},
		{"relative shell", backends.Command{Text: "true", Shell: "./bash"}, messages.InvalidParams, "invalid_shell", ""},
		{"not installed", backends.Command{Text: "true", Shell: "nowhere"}, messages.SpawnFailed, "ENOENT", "troupe-no-such-shell is not installed"},
		{"not installed, by path", backends.Command{Text: "true", Shell: dir + "/bash"}, messages.SpawnFailed, "ENOENT", "is not installed"},
		{"a shell without files", backends.Command{Text: long, Shell: "odd"}, messages.TooLarge, "command", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := s.Check(c.command)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, &messages.Error{Code: c.code, Reason: c.reason}) || !strings.Contains(err.Message, c.text) {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// A directory that may not be entered is refused; root may enter all.
func TestBadInputForbiddenDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	err := open(t, fake.New(fake.Options{}), pipe.Options{}, backends.ExecutorSpec{}).Check(backends.Command{Text: "true", Dir: dir})
	if os.Geteuid() == 0 {
		if err != nil {
			t.Errorf("root: %v", err)
		}
		return
	}
	if !errors.Is(err, &messages.Error{Code: messages.CwdNotFound, Reason: "EACCES"}) {
		t.Errorf("got %+v", err)
	}
}

// started runs a command and gives what the engine was asked to run.
func started(t *testing.T, o pipe.Options, at backends.ExecutorSpec, c backends.Command) backends.Spec {
	t.Helper()
	e := fake.New(fake.Options{})
	c.ID = "A"
	open(t, e, o, at).Start(c, func(messages.ProcessFact) {})
	return (<-e.Started).Spec
}

func TestArgv(t *testing.T) {
	dir := t.TempDir()
	for _, shell := range []string{"bash", "zsh", "fish", "sh"} {
		if err := os.WriteFile(filepath.Join(dir, shell), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nowhere:" + dir}
	for _, c := range []struct {
		shell, session string
		want           []string
	}{
		{"", "", []string{"bash", "--norc", "--noprofile", "-c", "echo $1"}},
		{"zsh", "", []string{"zsh", "-f", "-c", "echo $1"}},
		{"", "fish", []string{"fish", "--no-config", "-c", "echo $1"}},
		{"sh", "fish", []string{"sh", "-c", "echo $1"}},
		{dir + "/zsh", "", []string{dir + "/zsh", "-f", "-c", "echo $1"}},
		{"mine", "", []string{"bash", "-O", "extglob", "-c", "echo $1"}},
	} {
		o := pipe.Options{Shells: map[string][]string{"mine": {"bash", "-O", "extglob", "-c"}}}
		s := started(t, o, backends.ExecutorSpec{Shell: c.session, Dir: "/"}, backends.Command{Text: "echo $1", Shell: c.shell, Env: env})
		if !slices.Equal(s.Argv, c.want) || s.Dir != "/" {
			t.Errorf("%q in %q: %q in %s", c.shell, c.session, s.Argv, s.Dir)
		}
		if want := filepath.Join(dir, filepath.Base(c.want[0])); s.Program != want && s.Argv[0] != want {
			t.Errorf("%q in %q: run from %q", c.shell, c.session, s.Program)
		}
	}
	s := started(t, pipe.Options{}, backends.ExecutorSpec{Dir: "/"}, backends.Command{Argv: []string{"a", "b c"}, Dir: "/tmp"})
	if !slices.Equal(s.Argv, []string{"a", "b c"}) || s.Dir != "/tmp" {
		t.Errorf("argv: %q in %s", s.Argv, s.Dir)
	}
	s = started(t, pipe.Options{}, backends.ExecutorSpec{}, backends.Command{Text: "true"}) // no PATH
	if !filepath.IsAbs(s.Argv[0]) || filepath.Base(s.Argv[0]) != "bash" {
		t.Errorf("without a PATH: %q", s.Argv)
	}
}

// A text that begins as an option does is a text: to shells whose -c takes none it stands
// behind the end of the options.
func TestATextIsNoOption(t *testing.T) {
	o := pipe.Options{Shells: map[string][]string{"mine": {"bash", "-O", "extglob", "-c"}, "rc": {"bash", "--text"}}}
	for shell, want := range map[string][]string{
		"bash": {"--norc", "--noprofile", "-c", "--"}, "sh": {"-c", "--"}, "mine": {"-O", "extglob", "-c", "--"}, "rc": {"--text"},
	} {
		for _, text := range []string{"-x", "-", "+e; true", "--version", "-- echo"} {
			s := started(t, o, backends.ExecutorSpec{}, backends.Command{Text: text, Shell: shell})
			if !slices.Equal(s.Argv[1:], append(slices.Clip(want), text)) {
				t.Errorf("%s: %q", shell, s.Argv)
			}
		}
	}
}

// A prefix stands before a text, and not before argv; with it a text may be too long for
// a word.
func TestPrefixIsRunWithTheText(t *testing.T) {
	o := pipe.Options{Prefix: "nice -n 5", Shells: map[string][]string{"odd": {"sh", "--text"}}}
	s := started(t, o, backends.ExecutorSpec{}, backends.Command{Text: "a && b"})
	if !slices.Equal(s.Argv[1:], []string{"--norc", "--noprofile", "-c", "nice -n 5 a && b"}) {
		t.Errorf("got %q", s.Argv)
	}
	if s = started(t, o, backends.ExecutorSpec{}, backends.Command{Argv: []string{"a", "b"}}); !slices.Equal(s.Argv, []string{"a", "b"}) {
		t.Errorf("argv: %q", s.Argv)
	}
	long := strings.Repeat("#", pipe.MaxWord-3)
	if s = started(t, o, backends.ExecutorSpec{}, backends.Command{Text: long}); s.Script != "nice -n 5 "+long {
		t.Errorf("a long text: %.40q, script %.40q", s.Argv, s.Script)
	}
	place := open(t, fake.New(fake.Options{}), o, backends.ExecutorSpec{})
	if err := place.Check(backends.Command{Text: long, Shell: "odd"}); !errors.Is(err, &messages.Error{Code: messages.TooLarge}) {
		t.Errorf("an odd shell takes it: %v", err)
	}
}

// The shell is looked for again when the PATH is another.
func TestLookupFollowsThePath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fish")
	s := open(t, fake.New(fake.Options{}), pipe.Options{Shells: map[string][]string{"fish": {"troupe-fish", "-c"}}}, backends.ExecutorSpec{})
	c := backends.Command{Text: "true", Shell: "fish", Env: []string{"PATH=" + dir}}
	if err := s.Check(c); err == nil {
		t.Fatal("found what is not there")
	}
	if err := os.WriteFile(filepath.Join(dir, "troupe-fish"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(c); err != nil {
		t.Errorf("%s is there: %v", path, err)
	}
	c.Env = []string{"PATH=/nowhere"}
	if err := s.Check(c); err == nil {
		t.Error("found in a PATH in which it is not")
	}
}

// A terminal is all that a command on one has, and it is told of what kind that is.
func TestTerminal(t *testing.T) {
	one, other, third := messages.Terminal{Rows: 1, Cols: 2}, messages.Terminal{Rows: 3, Cols: 4}, messages.Terminal{Rows: 5, Cols: 6}
	for _, c := range []struct{ options, place, command, want messages.Terminal }{
		{},
		{command: one, want: one},
		{place: other, want: messages.Terminal{}}, // a session of pipes
		{options: third, want: third},
		{options: third, place: other, want: other},
		{options: third, place: other, command: one, want: one},
	} {
		stdio := backends.Stdio{Stdin: messages.StdinPipe, Streams: messages.SeparateStreams, Terminal: c.command}
		s := started(t, pipe.Options{Terminal: c.options}, backends.ExecutorSpec{Terminal: c.place}, backends.Command{Argv: []string{"true"}, Stdio: stdio})
		if c.want == (messages.Terminal{}) {
			if s.Stdio != stdio || len(s.Env) > 0 {
				t.Errorf("%+v: %+v, %q", c, s.Stdio, s.Env)
			}
			continue
		}
		if s.Stdio != (backends.Stdio{Terminal: c.want}) || !slices.Equal(s.Env, []string{"TERM=xterm-256color"}) {
			t.Errorf("%+v: %+v, %q", c, s.Stdio, s.Env)
		}
	}
	env := []string{"A=1", "TERM=vt100"}
	if s := started(t, pipe.Options{}, backends.ExecutorSpec{}, backends.Command{Argv: []string{"true"}, Env: env, Stdio: backends.Stdio{Terminal: one}}); !slices.Equal(s.Env, env) {
		t.Errorf("%q", s.Env)
	}
	onPipes, onTerminals := pipe.New(fake.New(fake.Options{}), pipe.Options{}), pipe.New(fake.New(fake.Options{}), pipe.Options{Terminal: third})
	if onPipes.Name() != "pipe" || onTerminals.Name() != "pty" {
		t.Errorf("%s and %s", onPipes.Name(), onTerminals.Name())
	}
	if a, b := onPipes.Can(), onTerminals.Can(); !a.Terminal || !b.Terminal || !a.Separate || b.Separate || !b.Input {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestLongTextTravelsInAFile(t *testing.T) {
	text := "#" + strings.Repeat("x", pipe.MaxWord-1)
	s := started(t, pipe.Options{}, backends.ExecutorSpec{}, backends.Command{Text: text})
	if len(s.Argv) != 5 || s.Argv[4] != text || s.Script != "" {
		t.Errorf("a text of MaxWord bytes is no word: %d words", len(s.Argv))
	}
	text += "x"
	s = started(t, pipe.Options{}, backends.ExecutorSpec{}, backends.Command{Text: text})
	if !slices.Equal(s.Argv[1:], []string{"--norc", "--noprofile"}) || s.Script != text {
		t.Errorf("argv %q, and a script of %d bytes", s.Argv, len(s.Script))
	}
}
