package keeper_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// diskOf returns the bytes that a directory takes on the disk, without logs.
func diskOf(t *testing.T, dir string) (taken int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".log") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil // it has gone meanwhile
		}
		taken += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// The keeper of a detached job takes little of the disk, however often the job is changed,
// while it lives, when it was killed, and when it has ended.
func TestDiskOfADetachedJob(t *testing.T) {
	const most = 128 << 10
	root := filepath.Join(t.TempDir(), "detached")
	f := openFleet(t, root)
	defer func() { f.Close(false) }()
	check := func(when string, id messages.UID) {
		t.Helper()
		if taken := diskOf(t, filepath.Join(root, string(id))); taken > most {
			t.Errorf("%s: %d bytes", when, taken)
		}
	}
	id, e := newUID(), newEar(t)
	p := f.Start(shell(id, "read x; exit 4", detached, func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
	await[messages.ProcessStarted](e, 1)
	check("after the start", id)
	for i := range 100 {
		p.SaveMeta(slices.Repeat([]byte{byte('a' + i%26)}, backends.MaxMeta))
	}
	p.Do(backends.Deadline{After: 1 << 40}) // answered after the changes
	await[messages.ControlDone](e, 1)
	until(t, "a journal of bounded size", func() bool { return diskOf(t, filepath.Join(root, string(id))) <= most })
	p.Do(backends.CloseInput{})
	if x := await[messages.ProcessExited](e, 1); x.Status.Code != 4 {
		t.Errorf("%+v", x)
	}
	await[messages.TreeEnded](e, 1)
	check("after the end", id)
	p.Settle(lastNumber(e))
	ended(t, filepath.Join(root, string(id)))
	check("without its keeper", id)

	killed, e := newUID(), newEar(t)
	f.Start(shell(killed, "exec sleep 600", detached), e.facts)
	kill(t, parentOf(await[messages.ProcessStarted](e, 1).PID))
	await[messages.ProcessLost](e, 1)
	check("after the death of its keeper", killed)
}

// The journal of a keeper is damaged while jobs are in it, and the keeper dies: one job is
// lost without a record, nothing of it lives, and all others have their ends.
func TestFaultKeepersJournalIsDamaged(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	hit, runs, over := newUID(), newUID(), newUID()
	var mains []int
	for _, id := range []messages.UID{hit, runs} {
		e := newEar(t)
		c.Start(shell(id, "setsid sleep 600 & exec sleep 600"), e.facts)
		mains = append(mains, await[messages.ProcessStarted](e, 1).PID)
	}
	e := newEar(t)
	c.Start(shell(over, "exit 5"), e.facts)
	await[messages.TreeEnded](e, 1)
	path := filepath.Join(dir, "keeper.journal")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	records := regexp.MustCompile(string(hit)).FindAllIndex(text, -1)
	if len(records) < 2 {
		t.Fatal("the start is not recorded")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range records {
		if _, err := file.WriteAt([]byte{text[at[0]] ^ 2}, int64(at[0])); err != nil {
			t.Fatal(err)
		}
	}
	file.Close()
	if keeper.Damage(dir) == "" {
		t.Error("the damage is not found while the keeper lives")
	}
	c.Abandon()
	kill(t, pid)

	faults := make(chan string, 16)
	c = openWith(t, dir, func(err error) { faults <- err.Error() })
	if said := <-faults; !strings.Contains(said, "keeper.journal: ") || !strings.Contains(said, "are damaged, first at byte") {
		t.Errorf("the client hears %q", said)
	}
	if _, err := c.Adopt(hit, newEar(t).facts); err == nil {
		t.Error("a job without a record is known")
	}
	_, e = adopt(t, c, runs)
	if l := await[messages.ProcessLost](e, 1); l.Err.Reason != "keeper" {
		t.Errorf("%+v", l)
	}
	_, e = adopt(t, c, over)
	if x := await[messages.ProcessExited](e, 1); x.Status.Code != 5 {
		t.Errorf("%+v", x)
	}
	for _, main := range mains {
		if startTime(main) != "" {
			t.Errorf("process %d lives", main)
		}
	}
	c.Close(false)
	awaitKeeperEnd(dir)
	if damage := keeper.Damage(dir); damage != "" {
		t.Errorf("after the end of the keeper: %s", damage)
	}
}
