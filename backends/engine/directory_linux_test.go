package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"troupe/messages"
)

// A directory that goes between the look at it and the fork is told from a program
// that is not there.
func TestFaultDirectoryGoesBeforeTheFork(t *testing.T) {
	var dir string
	var before func() error
	r := newRig(t, func(o *Options) {
		o.Failpoint = func(point string) error {
			if point == pointFork && before != nil {
				return before()
			}
			return nil
		}
	})
	remove := func() error { return os.Remove(dir) }
	for name, c := range map[string]struct {
		before func() error
		argv   []string
		code   messages.Code
		reason string
		shell  int
	}{
		"removed":     {remove, []string{"bash", "-c", "true"}, messages.CwdNotFound, "ENOENT", 126},
		"a file":      {func() error { return errors.Join(remove(), os.WriteFile(dir, nil, 0o600)) }, []string{"bash", "-c", "true"}, messages.CwdNotDir, "ENOTDIR", 126},
		"a loop":      {func() error { return errors.Join(remove(), os.Symlink(dir, dir)) }, []string{"bash", "-c", "true"}, messages.CwdNotFound, "ELOOP", 126},
		"no program":  {nil, []string{"./none"}, messages.SpawnFailed, "ENOENT", 127},
		"both":        {remove, []string{"/no/such/program"}, messages.CwdNotFound, "ENOENT", 126},
		"not entered": {func() error { return os.Chmod(dir, 0) }, []string{"bash", "-c", "true"}, messages.CwdNotFound, "EACCES", 126},
	} {
		if name == "not entered" && os.Geteuid() == 0 {
			continue // root enters any
		}
		dir = filepath.Join(t.TempDir(), "dir")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := r.argv(c.argv...)
		s.Dir, before = dir, c.before
		e := r.start(s)
		if f := await[messages.ProcessFailed](e); f.Err.Code != c.code || f.Err.Reason != c.reason || f.Shell != c.shell {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Programs that cannot be executed, cgroup or not, do not cost later jobs theirs.
func TestFaultForksThatFailKeepTheCgroups(t *testing.T) {
	r := newRig(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := await[messages.ProcessStarted](r.start(r.spec("true"))).Isolation
	for range 2 * maxSpoiled {
		await[messages.ProcessFailed](r.start(r.argv(plain)))
	}
	e, _ := r.run("true")
	if after := await[messages.ProcessStarted](e).Isolation; after != before {
		t.Errorf("%s before, %s after", before, after)
	}
}
