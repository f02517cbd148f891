package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// tmux is a terminal multiplexer of the test's own: its windows are terminals at which
// the test sits.
type tmux struct {
	t      *testing.T
	dir    string // where its programs begin, in directories of their own
	socket string
	env    []string
}

// sitting is one window of it, in which a shell runs one command.
type sitting struct {
	*tmux
	name string
	dir  string
}

func newTmux(t *testing.T, env []string) *tmux {
	t.Helper()
	need.Program(t, "tmux")
	dir := t.TempDir()
	x := &tmux{t: t, dir: dir, socket: dir + "/s", env: append(slices.Clone(env), "TMUX=", "LC_ALL=C.UTF-8", "VIMINIT=", "EXINIT=", "LESS=", "LESSHISTFILE=-", "PYTHONSTARTUP=", "PYTHON_HISTORY=/dev/null", "TERM=xterm-256color")}
	x.do("new-session", "-d", "-s", "stays", "-x", "80", "-y", "24", "cat", ";", "set", "-g", "status", "off", ";", "set", "-s", "escape-time", "0")
	pid, err := strconv.Atoi(x.asks("display", "-p", "#{pid}"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGTERM) })
	return x
}

func (x *tmux) asks(args ...string) string {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), "tmux", append([]string{"-u", "-S", x.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	require.NoError(x.t, err, "%v: %s", args, out)
	return strings.TrimSuffix(string(out), "\n")
}

func (x *tmux) do(args ...string) { x.t.Helper(); x.asks(args...) }

// sits runs a command at a new terminal, in a directory of that name. The shell stays
// after it and prints its status.
func (x *tmux) sits(name, command string) *sitting {
	x.t.Helper()
	s := &sitting{tmux: x, name: name, dir: x.dir + "/" + name}
	require.NoError(x.t, os.Mkdir(s.dir, 0o700))
	script := fmt.Sprintf("echo begun\n%s\nstatus=$?\necho ended $status\nstty -g > after\ntmux -S %s wait-for -S over-%s\nexec sleep 600\n", command, x.socket, name)
	require.NoError(x.t, os.WriteFile(s.dir+"/script", []byte("stty -g > before\n"+script), 0o600))
	x.do("new-window", "-d", "-n", name, "-c", s.dir, "bash --noprofile --norc script")
	x.do("resize-window", "-t", "stays:"+name, "-x", "80", "-y", "24")
	return s
}

func (s *sitting) at() string { return "stays:" + s.name }

// keys types keys by the names that tmux has for them; text is one.
func (s *sitting) keys(keys ...string) {
	s.t.Helper()
	s.do(append([]string{"send-keys", "-t", s.at()}, keys...)...)
}

func (s *sitting) shows() string { s.t.Helper(); return s.asks("capture-pane", "-p", "-t", s.at()) }

// state is what of a terminal is seen that is no text.
func (s *sitting) state() string {
	s.t.Helper()
	return s.asks("display", "-p", "-t", s.at(), "alternate #{alternate_on}, cursor #{cursor_flag} at #{cursor_x},#{cursor_y}, insert #{insert_flag}, "+
		"keys #{keypad_cursor_flag} #{keypad_flag}, mouse #{mouse_any_flag}#{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag}#{mouse_sgr_flag}#{mouse_utf8_flag}, origin #{origin_flag}, wrap #{wrap_flag}, margins #{scroll_region_upper} #{scroll_region_lower}")
}

// has waits for a text on the screen, of which no event tells.
func (s *sitting) has(text string) {
	s.t.Helper()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("%s waited for %q", s.name, text)
		}
	})
	settles(s.t, s.name+" shows no "+text, 0, func() int {
		if strings.Contains(s.shows(), text) {
			return 0
		}
		return 1
	})
}

// awaitEnd waits for the end of the command, and checks that the terminal has the modes that
// it had.
func (s *sitting) awaitEnd() {
	s.t.Helper()
	s.do("wait-for", "over-"+s.name)
	require.Equal(s.t, s.reads("before"), s.reads("after"), "the modes of the terminal")
}

func (s *sitting) reads(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(s.dir + "/" + name)
	require.NoError(s.t, err)
	return string(b)
}

// alike waits until the screens of two are equal, with a text on them.
func alike(t *testing.T, a, b *sitting, text string) {
	t.Helper()
	var shown, want string
	defer func() {
		if t.Failed() {
			t.Logf("waited for %q; %s shows\n%s\n%s shows\n%s", text, a.name, shown, b.name, want)
		}
	}()
	settles(t, "screens that differ", 0, func() int {
		shown, want = a.shows()+"\n"+a.state(), b.shows()+"\n"+b.state()
		if shown == want && strings.Contains(want, text) {
			return 0
		}
		return 1
	})
}
