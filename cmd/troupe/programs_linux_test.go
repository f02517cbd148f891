package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// typed holds the keys that the test types when the screen has a text.
type typed struct {
	sees string
	keys []string
}

// resizes stands for keys: the window gets another size.
const resizes = "(resize)"

// programs are driven as a user drives them.
var programs = map[string]struct {
	needs   string
	command string
	steps   []typed
	file    string // that it writes
}{
	"vim": {"vim", "vim -u NONE -i NONE -N text", []typed{
		{`"text" [New]`, []string{"ione", "Enter", "two", "Up", "Home", "zero ", "Escape"}},
		{"zero one", []string{resizes}},
		{"zero one", []string{":set ruler", "Enter", "G", "A", " three", "Escape"}},
		{"2,9", []string{":wq", "Enter"}},
	}, "text"},
	"less": {"less", "seq 1000 > numbers; less numbers", []typed{
		{"numbers", []string{"Down", "Down", "Up"}},
		{"\n24\n", []string{"Space", "/9", "7", "Enter"}},
		{"97\n98\n", []string{resizes}},
		{"97\n98\n", []string{"q"}},
	}, ""},
	"python": {"python3", "python3 -q", []typed{
		{">>>", []string{"6*7", "Enter"}},
		{"42\n>>>", []string{"Up", "BSpace", "8", "Enter"}},
		{"48\n>>>", []string{"import time; print('be' + 'gun'); time.sleep(600)", "Enter"}},
		{"\nbegun", []string{"C-c"}},
		{"KeyboardInterrupt\n>>>", []string{"import os; os.get_terminal_size().columns", "Enter"}},
		{"\n80\n>>>", []string{"C-d"}},
	}, ""},
	"password": {"python3", `python3 -c 'import getpass; open("heard", "w").write(getpass.getpass())'`, []typed{
		{"Password:", []string{"s3cret", "Enter"}},
	}, "heard"},
	"shell": {"tmux", "HISTFILE= bash --noprofile --norc", []typed{
		{"bash-", []string{"PS1='ready> '; ulimit -c 0", "Enter"}},
		{"\nready>", []string{"sh -c 'echo be''gun; exec cat'", "Enter"}},
		{"\nbegun", []string{"one", "Enter"}},
		{"\none\none", []string{"C-z"}},
		{"Stopped", []string{"fg", "Enter"}},
		{" fg\nsh -c", []string{"two", "Enter"}},
		{"\ntwo\ntwo", []string{"C-\\"}},
		{"Quit", []string{"exit 3", "Enter"}},
	}, ""},
}

// At each step, the screen of a program under troupe run --pty is the same as without
// troupe. The program gets the same keys, and leaves the terminal in the same state.
func TestPrograms(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	alone := program(t)
	for name, p := range programs {
		for _, where := range []struct {
			name, flags string
			env         []string
		}{{"here", "", alone.Env}, {"in the daemon", "", d.Env}, {"in a session", "-s " + name + " ", d.Env}} {
			t.Run(name+" "+where.name, func(t *testing.T) {
				t.Parallel()
				need.Program(t, p.needs)
				x := newTmux(t, where.env)
				bare, ours := x.sits("bare", p.command), x.sits("ours", "troupe run --pty "+where.flags+"--shell bash "+quote(p.command))
				for _, step := range p.steps {
					alike(t, ours, bare, step.sees)
					for _, s := range []*sitting{bare, ours} {
						if step.keys[0] == resizes {
							x.do("resize-window", "-t", s.at(), "-x", "70", "-y", "20")
						} else {
							s.keys(step.keys...)
						}
					}
				}
				bare.awaitEnd()
				ours.awaitEnd()
				alike(t, ours, bare, "ended")
				require.NotContains(t, ours.shows(), "s3cret")
				if p.file != "" {
					require.NotEmpty(t, bare.reads(p.file))
					require.Equal(t, bare.reads(p.file), ours.reads(p.file))
				}
			})
		}
	}
}

// quote is a word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Output that changes by itself is shown too, and the terminal is restored afterwards.
func TestProgramTop(t *testing.T) {
	t.Parallel()
	need.Program(t, "top")
	x := newTmux(t, program(t).Env)
	bare, ours := x.sits("bare", "true"), x.sits("ours", "troupe run --pty top -d 0.5 -n 4")
	ours.has("load average")
	ours.has("PID USER")
	bare.awaitEnd()
	ours.awaitEnd()
	require.Contains(t, ours.shows(), "ended 0")
	flags := func(s *sitting) string {
		before, _, _ := strings.Cut(s.state(), " at ")
		_, after, _ := strings.Cut(s.state(), ", insert")
		return before + after
	}
	require.Equal(t, flags(bare), flags(ours))
}

// An editor outlives the daemon that is killed: the run says how to come back to it, and
// leaves the terminal as it was; there it is all on the screen again, and goes on. So it
// is where it is left on purpose, and where troupe itself is killed.
func TestFaultVimOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	m := begins(t)
	x := newTmux(t, m.Env)
	first := x.sits("first", "echo $$ > shell; troupe run --pty --name ed vim -u NONE -i NONE -N text")
	first.has(`"text" [New]`)
	first.keys("i", "hello")
	first.has("hello")
	m.killed()
	first.awaitEnd()
	require.Contains(t, first.shows(), "begun\ntroupe: the connection to the daemon broke")
	require.Contains(t, strings.ReplaceAll(first.shows(), "\n", ""), "troupe attach ed connects to the command again")
	require.Contains(t, first.shows(), "ended 125")
	require.Contains(t, first.state(), "alternate 0, cursor 1")

	m.again()
	second := x.sits("second", "troupe attach ed")
	second.has("hello\n~")
	second.has("-- INSERT --")
	second.keys(" world")
	second.has("hello world")
	second.keys("C-p", "C-q")
	second.awaitEnd()
	require.Contains(t, second.shows(), "begun\ntroupe: attached to job j1: ctrl-p ctrl-q leaves it running, and Ctrl-C goes to\nthe job\ntroupe: left job ed, which continues; troupe attach ed comes back\nended 0")
	require.Contains(t, second.state(), "alternate 0, cursor 1")

	third := x.sits("third", "echo $$ > shell; exec troupe attach ed")
	third.has("hello world")
	pid, err := strconv.Atoi(strings.TrimSpace(third.reads("shell")))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))

	fourth := x.sits("fourth", "troupe attach --take ed")
	fourth.has("hello world")
	fourth.keys("!", "Escape", ":wq", "Enter")
	fourth.awaitEnd()
	require.Contains(t, fourth.shows(), "ended 0")
	require.Equal(t, "hello world!\n", first.reads("text"))
}

// When a client is killed, the shell gets its terminal back.
func TestFaultVimOfAKilledClient(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	x := newTmux(t, program(t).Env)
	s := x.sits("killed", `(sh -c 'echo $$ > pid; exec troupe run --pty vim -u NONE -i NONE -N text'); until stty -g | cmp -s before; do read -r -t 0.02 < <(sleep 1); done`)
	s.has(`"text" [New]`)
	pid, err := strconv.Atoi(strings.TrimSpace(s.reads("pid")))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	s.awaitEnd()
	settles(t, "terminals that are not as they were", 0, func() int {
		return map[bool]int{false: 1}[strings.HasPrefix(s.state(), "alternate 0, cursor 1 ")]
	})
}

// A terminal is restored without the mouse, keys and colours that a program has turned
// on, whether the user or the program ends the attachment, or the client is killed.
func TestFaultProgramsGiveTheTerminalBack(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	d := serves(t, nil)
	x := newTmux(t, d.Env)
	apart := func(s *sitting) string { // where the cursor is differs
		before, rest, _ := strings.Cut(s.state(), " at ")
		_, after, _ := strings.Cut(rest, ", insert")
		return before + after
	}
	const vim = "troupe run --pty vim -u NONE -i NONE -N -c 'set mouse=a ttymouse=sgr title'"
	bare := x.sits("bare", "true")
	bare.awaitEnd()
	usual := apart(bare)
	for name, e := range map[string]struct {
		command string
		ends    func(s *sitting)
	}{
		"left":   {vim, func(s *sitting) { s.keys("C-p", "C-q") }},
		"ended":  {vim, func(s *sitting) { s.keys(":q", "Enter") }},
		"killed": {"echo $BASHPID > pid; exec " + vim, func(s *sitting) { s.kills("pid") }},
		"lost":   {vim + ` --cmd 'call writefile([getpid()], "pid")'`, func(s *sitting) { s.kills("pid") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := x.sits(name, "("+e.command+")")
			settles(t, "mouse modes that are off", 0, func() int { return strings.Count(s.state(), "mouse 0") })
			e.ends(s)
			settles(t, "terminals that are not as they were", 0, func() int {
				if now := apart(s); now != usual {
					t.Logf("it is %s, it was %s", now, usual)
					return 1
				}
				return 0
			})
		})
	}
}

// kills kills the process whose id is in a file.
func (s *sitting) kills(file string) { s.t.Helper(); s.signals(file, syscall.SIGKILL) }

func (s *sitting) signals(file string, sig syscall.Signal) {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.reads(file)))
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, sig))
}

// A client that attaches to an editor again has its mouse and key modes; its terminal is
// restored when it detaches.
func TestAProgramsModesAreThereAgain(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	x := newTmux(t, serves(t, nil).Env)
	modes := func(s *sitting) string { _, at, _ := strings.Cut(s.state(), ", insert"); return at }
	bare := x.sits("bare", "true")
	bare.awaitEnd()
	first := x.sits("first", "troupe run --pty --name ed vim -u NONE -i NONE -N -c 'set mouse=a ttymouse=sgr'")
	first.has("~")
	settles(t, "mouse modes that are off", 0, func() int { return strings.Count(first.state(), "mouse 0") })
	wanted := modes(first)
	first.keys("C-p", "C-q")
	first.awaitEnd()
	for _, name := range []string{"second", "third"} {
		s := x.sits(name, "troupe attach ed")
		s.has("~")
		settles(t, "modes that are not there", 0, func() int {
			if modes(s) == wanted {
				return 0
			}
			t.Logf("it has %s, want %s", modes(s), wanted)
			return 1
		})
		s.keys("C-p", "C-q")
		s.awaitEnd()
		require.Equal(t, modes(bare), modes(s))
	}
}
