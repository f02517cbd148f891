package shell_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
	"troupe/internal/test/need"
	"troupe/messages"
)

// hostileCount is how many tricks there are beside those of the probe, at least.
const hostileCount = 40

func TestHostileCommands(t *testing.T) {
	if n := len(more()); n < hostileCount {
		t.Fatalf("%d tricks", n)
	}
	for _, name := range []string{"bash", "dash", "zsh", "fish", "sh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			r := newRig(t, shell.Options{})
			for _, c := range append(probed(), more()...) {
				if c.only != "" && !strings.Contains(c.only, name[:1]) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { r.play(t, name, c) })
			}
		})
	}
}

// needShell skips for a shell that is not everywhere.
func needShell(t *testing.T, name string) {
	if name == "zsh" || name == "fish" {
		need.Program(t, name)
	}
}

// odd are the flags that are not to be: what was left in the background may write on a
// terminal.
func (c trick) odd(flags []messages.Flag) []messages.Flag {
	return slices.DeleteFunc(flags, func(f messages.Flag) bool { return c.left && f == messages.FlagBackground })
}

// plain is an output with the ends of lines that were written.
func (r *rig) plain(out string) string {
	if !r.terminal {
		return out
	}
	return strings.ReplaceAll(out, "\r\n", "\n")
}

// play runs a trick, and then what must go on.
func (r *rig) play(t *testing.T, name string, c trick) {
	own := *r
	own.TB = t
	dir, err := r.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	s := own.open(name, func(p *backends.ExecutorSpec) { p.Env = append(p.Env, "TROUPE_SHELLS="+dir) })
	defer s.close()
	s.say("true")
	it := s.start(c.text, func(b *backends.Command) {
		if c.input {
			b.Stdio.Stdin = messages.StdinPipe
		}
	})
	if c.do != nil {
		c.do(it)
	}
	f := it.result()
	ended := false
	for _, flag := range f.Flags {
		ended = ended || flag == messages.FlagSessionEnded
	}
	code, out := f.Status.Shell(), r.plain(it.output(messages.Merged))
	if c.code == anyFailure && code == 0 || c.code >= 0 && code != c.code {
		t.Errorf("its status is %+v, want %d", f.Status, c.code)
	}
	wrote := c.out
	if r.terminal {
		wrote = cmp.Or(c.tty, c.out)
	}
	if exact, is := strings.CutPrefix(wrote, "="); is && out != exact || !is && !strings.Contains(out, wrote) {
		t.Errorf("it wrote %.300q, want %.300q", out, wrote)
	}
	if ended != c.ends && c.code != anyCode {
		t.Errorf("the shell has ended: %v (%+v, %.300q)", ended, f, out)
	}
	for i := range 3 {
		out, f := s.say("echo ALI''VE")
		out = r.plain(out)
		if i == 0 && c.last {
			continue
		}
		want := cmp.Or(c.then, "ALIVE\n")
		some, among := strings.CutPrefix(want, "~")
		if among && !strings.Contains(out, some) || !among && out != want || f.Status.Shell() != 0 || len(c.odd(f.Flags)) > 0 {
			t.Errorf("behind it: %+v, %.300q, want %q", f, out, want)
		}
	}
}
