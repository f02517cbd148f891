package keeper_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// sleeper starts a job that lasts, and says which process it is.
func sleeper(t *testing.T, c *keeper.Client) int {
	t.Helper()
	e := newEar(t)
	c.Start(shell(newUID(), "exec sleep 600"), e.facts)
	return await[messages.ProcessStarted](e, 1).PID
}

// A keeper whose directory was removed starts nothing that nobody could find again, and
// ends with its jobs when its client goes: no other can come.
func TestAKeeperWhoseDirectoryWasRemoved(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	c := open(t, dir)
	_, pid := c.Keeper()
	job := sleeper(t, c)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	e := newEar(t)
	c.Start(shell(newUID(), "true"), e.facts)
	if f := await[messages.ProcessFailed](e, 1); f.Err.Code != messages.Refused || f.Err.Reason != "gone" {
		t.Errorf("started: %+v", f)
	}
	if startTime(pid) == "" || startTime(job) == "" {
		t.Fatal("what ran has ended, with its client there")
	}
	c.Abandon()
	until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
	if startTime(job) != "" {
		t.Error("its job lives on")
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it has made its directory again: %v", err)
	}
}

// So does one whose directory is removed when its client has gone already: there is no
// client to leave any more.
func TestAKeeperWhoseDirectoryIsRemovedBehindItsClient(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"without jobs": false, "with a job": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := keeperDir(t)
			c := open(t, dir)
			_, pid := c.Keeper()
			job := 0
			if busy {
				job = sleeper(t, c)
			}
			c.Abandon()
			if err := os.Rename(dir, dir+"-away"); err != nil { // it can come back
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir + "-away"); err != nil {
				t.Fatal(err)
			}
			until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
			if busy && startTime(job) != "" {
				t.Error("its job lives on")
			}
		})
	}
}

// What runs there ends as it ends, however much it writes: what of its output no file can
// hold any more is told to be missing.
func TestAJobOfAKeeperWhoseDirectoryWasRemovedGoesOn(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	c := open(t, dir)
	e := newEar(t)
	p := c.Start(shell(newUID(), "read x; head -c 300000 /dev/zero; echo end; exit 3", func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
	await[messages.ProcessStarted](e, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.Do(backends.Input{Data: []byte("\n")})
	f := await[messages.ProcessExited](e, 1)
	if f.Status.Code != 3 || f.Sizes[messages.Merged] != 300_004 || len(f.Outputs) != 1 || len(f.Outputs[0].Elided) != 1 {
		t.Errorf("ended with %+v", f)
	}
	if text := read(t, p, messages.Merged); !strings.HasSuffix(text, "end\n") {
		t.Errorf("the end of its output is missing")
	}
	await[messages.TreeEnded](e, 1)
	if f := await[messages.LogFlagged](e, 1); f.Flag != messages.FlagLogUnlinked {
		t.Errorf("told %+v", f)
	}
	c.Close(false)
}

// A keeper whose directory was moved, or has lost its lease alone, can be found again:
// it works on, and its jobs outlive its client.
func TestAKeeperThatCanBeFoundAgainGoesOn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) (back func() error, err error){
		"moved": func(dir string) (func() error, error) {
			return func() error { return os.Rename(dir+"-away", dir) }, os.Rename(dir, dir+"-away")
		},
		"no lease": func(dir string) (func() error, error) {
			return func() error { return nil }, os.Remove(filepath.Join(dir, "keeper.lock"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := keeperDir(t)
			endAll(t, dir)
			c := open(t, dir)
			_, pid := c.Keeper()
			back, err := change(dir)
			if err != nil {
				t.Fatal(err)
			}
			job := sleeper(t, c)
			c.Abandon()
			if err := back(); err != nil {
				t.Fatal(err)
			}
			c = open(t, dir)
			if _, now := c.Keeper(); now != pid || startTime(job) == "" {
				t.Errorf("the keeper is %d, and was %d", now, pid)
			}
			c.Abandon()
		})
	}
}
