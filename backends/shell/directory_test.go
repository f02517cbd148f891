package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/shell"
	"troupe/messages"
)

// The directory of a node, in which live shells have their files, may be that of a user
// whose name has blanks and patterns in it. One that no quotes hold is refused by name.
func TestShellsInAnOddDirectory(t *testing.T) {
	root := t.TempDir()
	within := func(t *testing.T, name string) {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir) // in which the rig is
	}
	within(t, "a  b*[c]?(d)!~&;#ü=")
	inAllShells(t, func(t *testing.T, s *session) {
		s.say(s.export("KEPT", "kept"))
		long := "echo long # " + strings.Repeat("x", 5000) + "\n"
		if out, _ := s.say(long); out != "long\n" {
			t.Errorf("a long text: %q", out)
		}
		if _, f := s.say(die); f.Status.Code != 4 || !slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%+v", f)
		}
		if out, _ := s.say("echo $KEPT"); out != "kept\n" {
			t.Errorf("the next shell: %q", out)
		}
	})
	t.Run("refused", func(t *testing.T) {
		within(t, "o'neil")
		s := newRig(t, shell.Options{}).open("bash")
		run := s.start("echo hi")
		f := await[messages.ProcessFailed](run.ear)
		if f.Err.Reason != "directory" || !strings.Contains(f.Err.Hint, "o'neil") {
			t.Errorf("%+v", f)
		}
		run.proc.Settle(f.Seq)
		s.close()
	})
}

// The directory of a command is entered whatever the shell holds for true: its name may
// be another directory's by now, and its PWD anything.
func TestADirectoryIsEnteredAgain(t *testing.T) {
	inAllShells(t, func(t *testing.T, s *session) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		at, link := filepath.Join(root, "at"), filepath.Join(root, "link")
		in := func(dir string) func(*backends.Command) { return func(c *backends.Command) { c.Dir = dir } }
		must := func(errs ...error) {
			t.Helper()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
		must(os.Mkdir(at, 0o700))
		s.say("true", in(at))
		must(os.Remove(at), os.Mkdir(at, 0o700))
		if out, f := s.say("touch here; ls", in(at)); out != "here\n" || f.Status.Code != 0 {
			t.Errorf("in a directory that was made anew: %q, %+v", out, f)
		}
		must(os.Symlink("/usr", link))
		s.say("true", in(link))
		must(os.Remove(link), os.Symlink(at, link))
		if out, _ := s.say("/bin/pwd -P", in(link)); out != at+"\n" {
			t.Errorf("behind a link that was turned: %q", out)
		}
		if s.shell == "fish" {
			return // its PWD is read-only
		}
		s.say("PWD=/usr")
		if out, _ := s.say("/bin/pwd", in("/usr")); out != "/usr\n" {
			t.Errorf("where PWD is a lie: %q", out)
		}
	})
}
