package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// A script is in a file that nobody else can read, and only while it runs; a fork
// that has to be tried again writes it once.
func TestAScriptIsAFileWhileItRuns(t *testing.T) {
	forks := 0
	r := newRig(t, func(o *Options) {
		o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir
		o.Failpoint = func(point string) error {
			if point == pointFork {
				if forks++; forks == 1 {
					return unix.EAGAIN
				}
			}
			return nil
		}
	})
	dir, err := r.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	s := r.argv("bash", "--norc", "--noprofile")
	s.Script = "stat -c '%a %s' $0; dirname $0; echo $# #" + strings.Repeat("x", 1<<20) + "\n"
	want := fmt.Sprintf("600 %d\n%s\n0\n", len(s.Script), dir)
	e := r.start(s)
	e.over()
	if got := r.output(e, messages.Merged); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "troupe-script-*")); forks != 2 || len(left) > 0 {
		t.Errorf("after %d forks %v is left", forks, left)
	}
}

func TestFaultTextThatCannotBeWritten(t *testing.T) {
	for _, c := range []struct {
		dir    func() (string, error)
		reason string
		hint   string
	}{
		{func() (string, error) { return "/nowhere", nil }, "ENOENT", "make sure that /nowhere can be written and has room"},
		{func() (string, error) { return "", os.ErrPermission }, "", "make sure that the directory of this node can be made and entered"},
		{func() (string, error) { return "", errors.Join(unix.ENOSPC) }, "ENOSPC", "free space on the disk of this node's directory"},
		{nil, "ENOENT", "make sure that /no/where can be written and has room, or name another with TMPDIR"},
	} {
		t.Run(c.hint, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.ScriptDir = c.dir })
			s := r.argv("bash")
			s.Script = "echo never"
			t.Setenv("TMPDIR", "/no/where")
			f := await[messages.ProcessFailed](r.start(s))
			if f.Err.Code != messages.SpawnFailed || f.Err.Reason != c.reason || f.Shell != shellNotExecutable || f.Err.Hint != c.hint {
				t.Errorf("heard %+v", f)
			}
		})
	}
}
