package keeper_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/backends/pipe"
	"troupe/internal/test/conformance"
	"troupe/messages"
)

// openFleet opens the fleet of a directory, without a keeper for other jobs.
func openFleet(t testing.TB, root string, change ...func(*keeper.FleetOptions)) *keeper.Fleet {
	t.Helper()
	o := keeper.FleetOptions{
		Root: root, Build: "test", Program: []string{self(t), roleArg},
		Env:   []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0", "TMPDIR=" + os.Getenv("TMPDIR")},
		Fault: func(err error) { t.Logf("fault: %v", err) },
	}
	for _, c := range change {
		c(&o)
	}
	f, err := keeper.OpenFleet(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// detaching detaches every job.
type detaching struct{ *keeper.Fleet }

func (d detaching) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	s.Detach = true
	return d.Fleet.Start(s, facts)
}

// A job with a keeper of its own keeps the promises of any job.
func TestConformanceDetached(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		f := openFleet(t, filepath.Join(t.TempDir(), "detached"))
		t.Cleanup(func() {
			if left := f.Close(false); len(left) > 0 {
				t.Errorf("survivors: %+v", left)
			}
		})
		return conformance.Subject{
			Backend: pipe.New(detaching{f}, pipe.Options{}), Engine: detaching{f}, Reach: reach(t), Real: true,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

// reach is what a keeper holds its jobs by here.
func reach(t *testing.T) messages.Isolation {
	dir := keeperDir(t)
	c := open(t, dir)
	defer c.Close(false)
	return c.Features().Isolation
}

func detached(s *backends.Spec) { s.Detach = true }

// ended waits until no keeper holds the directory.
func ended(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(dir, "keeper.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	conn, err := lock.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Control(func(fd uintptr) { err = syscall.Flock(int(fd), syscall.LOCK_SH) })
	if err != nil {
		t.Fatal(err)
	}
}

// A keeper of one job goes on without its client, ends behind the job, and the next
// fleet hears all of it; when that has settled it, it is not asked again.
func TestFleetOutlivesItsClient(t *testing.T) {
	root := filepath.Join(t.TempDir(), "detached")
	f := openFleet(t, root)
	id, e := newUID(), newEar(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Start(shell(id, "echo one; read x < "+fifo+"; echo two; exit 5", detached), e.facts)
	await[messages.ProcessStarted](e, 1)
	f.Close(true)
	if err := os.WriteFile(fifo, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, filepath.Join(root, string(id)))
	for range 2 { // what is not settled is told again
		f = openFleet(t, root)
		e = newEar(t)
		p, err := f.Adopt(id, e.facts)
		if err != nil {
			t.Fatal(err)
		}
		if x := await[messages.ProcessExited](e, 1); x.Status.Code != 5 {
			t.Errorf("it ended with %+v", x)
		}
		await[messages.TreeEnded](e, 1)
		await[messages.OutputClosed](e, 1)
		if got := read(t, p, messages.Merged); got != "one\ntwo\n" {
			t.Errorf("it wrote %q", got)
		}
		f.Close(true)
	}
	f = openFleet(t, root)
	e = newEar(t)
	p, err := f.Adopt(id, e.facts)
	if err != nil {
		t.Fatal(err)
	}
	last := await[messages.TreeEnded](e, 1).Seq
	last = max(last, await[messages.OutputClosed](e, 1).Seq, await[messages.ProcessExited](e, 1).Seq)
	p.Settle(last)
	log, err := f.Open(id, messages.Merged)
	if err != nil || log.State().Size != 8 || !log.State().Closed {
		t.Errorf("its log is %+v, %v", log, err)
	} else {
		_ = log.Close()
	}
	f.Close(true)
	ended(t, filepath.Join(root, string(id)))
	if seen, err := keeper.Inspect(filepath.Join(root, string(id))); err != nil || !seen.Over || !seen.Collected || seen.Kept {
		t.Errorf("it is %+v, %v", seen, err)
	}
	f = openFleet(t, root)
	defer f.Close(true)
	if held, err := f.Inventory(t.Context()); err != nil || len(held) > 0 {
		t.Errorf("it has %v, %v", held, err)
	}
	f.Remove(id)
	if left := keeper.ListDetached(root); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// The keepers are killed at random instants: of each job the next fleet tells its true
// end, or that it is lost, and no process of it is left.
func TestFleetTellsTheTruthBehindDeadKeepers(t *testing.T) {
	root := filepath.Join(t.TempDir(), "detached")
	for i := range 20 {
		f := openFleet(t, root)
		id, e := newUID(), newEar(t)
		f.Start(shell(id, "read x < /proc/self/stat; exit 7", detached), e.facts)
		s := await[messages.ProcessStarted](e, 1)
		own := parentOf(s.PID)
		<-time.After(time.Duration(i%10) * 500 * time.Microsecond) // an instant of no meaning
		if own > 1 {
			_ = syscall.Kill(own, syscall.SIGKILL)
		}
		f.Close(true)
		f = openFleet(t, root)
		e = newEar(t)
		if _, err := f.Adopt(id, e.facts); err != nil {
			t.Fatal(i, err)
		}
		until(t, "its end", func() bool { return count[messages.ProcessExited](e)+count[messages.ProcessLost](e) > 0 })
		for _, fact := range e.all() {
			if x, ok := fact.(messages.ProcessExited); ok && x.Status.Code != 7 {
				t.Errorf("it ended with %+v", x)
			}
		}
		if startTime(s.PID) == strconv.FormatUint(s.StartTime, 10) {
			t.Error("it lives")
		}
		f.Close(false)
		if err := keeper.RemoveDetached(root, id); err != nil && !errors.Is(err, &messages.Error{Code: messages.Busy}) {
			t.Error(err)
		}
	}
}

// A keeper to which nobody comes ends, and so does one whose client dies before it
// has asked for anything.
func TestFleetKeeperWithoutAJobEnds(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir, roleArg, "--alone")
	_, pid := c.Keeper()
	c.Close(true)
	until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left its directory: %v", err)
	}
}

// A keeper whose client has asked for no job yet is not held by a fleet that takes it
// over: the client is dead, as a rule.
func TestFleetLetsAKeeperWithoutAJobEnd(t *testing.T) {
	root := filepath.Join(t.TempDir(), "detached")
	dir := filepath.Join(root, string(newUID()))
	c := open(t, dir, roleArg, "--alone")
	_, pid := c.Keeper()
	defer c.Close(true)
	f := openFleet(t, root)
	defer f.Close(true)
	until(t, "the end of the keeper", func() bool { return startTime(pid) == "" && len(keeper.ListDetached(root)) == 0 })
}

// Of a detached job that is not started nothing is left: it could not be, or its keeper
// could not begin, or there is none.
func TestFleetLeavesNothingOfWhatDidNotStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*keeper.FleetOptions)
		spec   func(*backends.Spec)
	}{
		"no program of the job":    {spec: func(s *backends.Spec) { s.Argv = []string{"/nonexistent/program"} }},
		"no place for its log":     {spec: func(s *backends.Spec) { s.Log.File = "/nonexistent/log" }},
		"no program of the keeper": {change: func(o *keeper.FleetOptions) { o.Program = []string{"/nonexistent/keeper"} }},
		"its keeper writes nothing": {change: func(o *keeper.FleetOptions) {
			o.Program = []string{"/bin/sh", "-c", `ulimit -f 0; exec "$0" "$@"`, self(t), roleArg}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "detached")
			f := openFleet(t, root, func(o *keeper.FleetOptions) {
				if c.change != nil {
					c.change(o)
				}
			})
			e := newEar(t)
			p := f.Start(shell(newUID(), "", detached, func(s *backends.Spec) {
				if c.spec != nil {
					c.spec(s)
				}
			}), e.facts)
			p.Settle(await[messages.ProcessFailed](e, 1).Seq)
			f.Close(true)
			until(t, "the end of its directory", func() bool { return len(keeper.ListDetached(root)) == 0 })
		})
	}
}

// parentOf is the parent of a process, 0 of one that has gone.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ppid, _ := strconv.Atoi(f[1])
	return ppid
}
