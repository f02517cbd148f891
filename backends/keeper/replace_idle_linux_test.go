package keeper_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// newer opens a fleet of a build that is not that of the keepers it finds.
func newer(t *testing.T, dir string) *keeper.Fleet {
	t.Helper()
	return openFleet(t, filepath.Join(t.TempDir(), "detached"), func(o *keeper.FleetOptions) {
		o.Main = keeper.ClientOptions{Dir: dir, Build: "newer", Program: o.Program, Env: o.Env, Fault: o.Fault}
	})
}

// A daemon of another build replaces the keeper when that has nothing to keep, with all
// outputs, and leaves it while it has a job: it would stay for ever, and lacks what is new.
func TestAKeeperOfAnotherBuildIsReplacedWhenItHasNoJob(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	e := newEar(t)
	id := newUID()
	p := c.Start(shell(id, "head -c 20000 /dev/zero"), e.facts)
	await[messages.TreeEnded](e, 1)
	p.Settle(lastNumber(e))
	job := sleeper(t, c)
	_, was := c.Keeper()
	c.Close(true)

	f := newer(t, dir)
	if startTime(was) == "" || startTime(job) == "" {
		t.Error("the keeper was replaced that has a job")
	}
	if f.Build() != "test" {
		t.Errorf("its build is %q", f.Build())
	}
	e = newEar(t)
	r := f.Start(backends.Spec{ID: newUID(), Env: []string{}, Dir: "/", Umask: -1}, e.facts) // to it there is no program
	if failed := await[messages.ProcessFailed](e, 1); failed.Err.Reason != "keeper" || !strings.Contains(failed.Err.Message, "troupe test, is of another build") {
		t.Errorf("what it does not understand is %+v", failed.Err)
	}
	r.Settle(lastNumber(e))
	held, err := f.Inventory(t.Context())
	if err != nil || len(held) != 1 {
		t.Fatalf("held: %+v, %v", held, err)
	}
	e = newEar(t)
	q, err := f.Adopt(held[0].ID, e.facts)
	if err != nil {
		t.Fatal(err)
	}
	q.Stop(messages.Cause{By: messages.ByClient}, 0)
	await[messages.TreeEnded](e, 1)
	q.Settle(lastNumber(e))
	f.Close(true)

	f = newer(t, dir)
	defer f.Close(true)
	until(t, "the end of the keeper that has no job", func() bool { return startTime(was) == "" })
	log, err := f.Open(id, messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if size := log.State().Size; size != 20000 {
		t.Errorf("of an output %d bytes are left", size)
	}
}

// Who comes while a keeper ends, behind its last word, is for the next one.
func TestAKeeperThatHasEndedAllLetsNobodyIn(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	for range 10 {
		_, was := c.Keeper()
		c.Close(true)
		open(t, dir).Close(false) // it has not started it, and does not wait for its end
		c = open(t, dir)
		if _, now := c.Keeper(); now == was {
			t.Fatal("the keeper that ends has let a client in")
		}
	}
	c.Close(true)
}

// A keeper in which nothing runs ends with its daemon, and every output is there in the next
// one. With a live job it stays.
func TestFaultIdleKeeperEndsWithItsDaemon(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	fleet := func() *keeper.Fleet {
		return openFleet(t, filepath.Join(t.TempDir(), "detached"), func(o *keeper.FleetOptions) {
			o.Main = keeper.ClientOptions{Dir: dir, Build: "test", Program: o.Program, Env: o.Env, Fault: o.Fault}
		})
	}
	c := open(t, dir)
	_, was := c.Keeper()
	c.Close(true)
	f := fleet()
	e := newEar(t)
	job := newUID()
	f.Start(shell(job, "exec sleep 600"), e.facts)
	await[messages.ProcessStarted](e, 1)
	f.Close(true)
	if startTime(was) == "" {
		t.Fatal("the keeper has ended that has a job")
	}
	if jobs, shells := keeper.Running(dir); len(jobs) != 1 || jobs[0] != job || shells != 0 {
		t.Errorf("running: %v, %d shells", jobs, shells)
	}

	f = fleet()
	e = newEar(t)
	p, err := f.Adopt(job, e.facts)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(messages.Cause{By: messages.ByClient}, 0)
	await[messages.TreeEnded](e, 1)
	p.Settle(lastNumber(e))
	sizes := []int{5000, 20000, 200000} // the daemon has a smaller one from the end of its job
	var ids []messages.UID
	for i := range 4 * len(sizes) {
		e, id := newEar(t), newUID()
		p := f.Start(shell(id, fmt.Sprintf("head -c %d /dev/zero", sizes[i%len(sizes)])), e.facts)
		await[messages.TreeEnded](e, 1)
		p.Settle(lastNumber(e))
		ids = append(ids, id)
	}
	f.Close(true)
	until(t, "the end of the keeper that has no job", func() bool { return startTime(was) == "" })
	if jobs, shells := keeper.Running(dir); len(jobs)+shells > 0 {
		t.Errorf("running: %v, %d shells", jobs, shells)
	}

	f = fleet()
	defer f.Close(true)
	for i, id := range ids {
		want := int64(sizes[i%len(sizes)])
		log, err := f.Open(id, messages.Merged)
		if err != nil {
			t.Errorf("an output of %d bytes: %v", want, err)
			continue
		}
		if size := log.State().Size; size != want {
			t.Errorf("of an output of %d bytes %d are left", want, size)
		}
		_ = log.Close()
	}
}

// A keeper dies before it has received that ended jobs are settled. The next one has them from
// the journal, is told again, and ends with its daemon.
func TestFaultKeeperDiesWithSettledJobs(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	endAll(t, dir)
	f := openFleet(t, filepath.Join(t.TempDir(), "detached"), func(o *keeper.FleetOptions) {
		o.Main = keeper.ClientOptions{Dir: dir, Build: "test", Program: o.Program, Env: o.Env, Fault: func(error) {}}
	})
	for range 10 {
		e := newEar(t)
		p := f.Start(shell(newUID(), "echo some; exit 3"), e.facts)
		await[messages.TreeEnded](e, 1)
		p.Settle(lastNumber(e))
	}
	was := f.PID()
	kill(t, was)
	until(t, "the next keeper", func() bool { return f.PID() != was })
	e := newEar(t)
	p := f.Start(shell(newUID(), "exit 4"), e.facts)
	await[messages.TreeEnded](e, 1)
	p.Settle(lastNumber(e))
	until(t, "a keeper without a job", func() bool {
		held, err := f.Inventory(t.Context())
		return err == nil && len(held) == 0
	})
	now := f.PID()
	f.Close(true)
	until(t, "the end of the keeper", func() bool { return startTime(now) == "" })
}
