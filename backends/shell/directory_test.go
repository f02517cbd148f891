package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
