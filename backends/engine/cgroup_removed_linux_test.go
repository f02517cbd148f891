package engine

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

// Emptied cgroups that another process removes are replaced: the next jobs run, in cgroups.
func TestARemovedCgroupIsReplaced(t *testing.T) {
	r := newRig(t)
	need.Feature(t, r.e.Features().Isolation == messages.InCgroup, "a cgroup for each job")
	for range 3 {
		r.run("true")
	}
	emptied, err := filepath.Glob(filepath.Join(r.e.Features().Cgroup, "[0-9]*"))
	if err != nil || len(emptied) == 0 {
		t.Fatalf("there are no emptied cgroups (%v)", err)
	}
	for _, dir := range emptied {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		e, x := r.run("exit 3")
		if x.Status.Code != 3 || await[messages.ProcessStarted](e).Isolation != messages.InCgroup {
			t.Errorf("got %+v, started as %+v", x.Status, await[messages.ProcessStarted](e))
		}
	}
}

// poorSys is a kernel that has no descriptor for what shows a process, after so many.
type poorSys struct {
	Sys
	looks atomic.Int64
	first int64
}

func (s *poorSys) OpenAt(dir int, path string, flags int) (int, error) {
	if strings.HasPrefix(path, "/proc/") && strings.HasSuffix(path, "/stat") && s.looks.Add(1) > s.first {
		return -1, unix.EMFILE
	}
	return s.Sys.OpenAt(dir, path, flags)
}

// beside opens a second engine, with a kernel, and closes it at the end of the test.
func beside(t *testing.T, node string, sys Sys) *Local {
	t.Helper()
	o := options(t)
	o.Node, o.Sys = node, sys
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close(false)
		if err := o.Store.(*spill.Disk).Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// An engine that cannot look at the owners of cgroups takes none for dead: jobs of others run on,
// and their emptied cgroups stay. One that could not look at itself is taken for dead by none.
func TestFaultAnEngineCannotLookAtOthers(t *testing.T) {
	r := newRig(t)
	need.Feature(t, r.e.Features().Isolation == messages.InCgroup, "a cgroup for each job")
	need.Feature(t, !modeNow().own, "two engines in a process")
	e := r.up("echo up; sleep 600; true")
	emptied, _ := filepath.Glob(filepath.Join(r.e.Features().Cgroup, "[0-9]*"))
	for first, node := range []string{"BLIND", "POOR"} {
		poor := &poorSys{Sys: kernel{}, first: int64(first)}
		f := beside(t, node, poor).Features()
		if len(f.Swept) > 0 || poor.looks.Load() < 2 || f.Isolation != messages.InCgroup {
			t.Errorf("%s has taken %v for dead, after %d looks, and has %s", node, f.Swept, poor.looks.Load(), f.Isolation)
		}
	}
	if f := beside(t, "WELL", kernel{}).Features(); len(f.Swept) > 0 {
		t.Errorf("the next one has taken %v for dead", f.Swept)
	}
	if left, _ := filepath.Glob(filepath.Join(r.e.Features().Cgroup, "[0-9]*")); len(left) < len(emptied) {
		t.Errorf("of the cgroups %v, %v are left", emptied, left)
	}
	if p, ok := statProc(kernel{}, await[messages.ProcessStarted](e).PID); !ok || p.dead() {
		t.Error("the job of the first engine was killed")
	}
	e.proc.Stop(client(), 0)
	e.over()
}
