package keeper_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"troupe/backends/keeper"
	"troupe/messages"
	"troupe/spill"
)

// limited opens a client that bounds the logs.
func limited(t *testing.T, dir string, l spill.Limits) *keeper.Client {
	t.Helper()
	c, err := keeper.Open(t.Context(), keeper.ClientOptions{
		Dir: dir, Program: []string{self(t), roleArg}, Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}, Storage: l,
		Fault: func(err error) { t.Logf("fault: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// there reports whether a log can be read still.
func there(t *testing.T, c *keeper.Client, id messages.UID) bool {
	t.Helper()
	log, err := c.Open(id, messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = log.ReadAt(make([]byte, 1), 0)
	if err != nil && !errors.Is(err, &messages.Error{Code: messages.OutputUnavailable}) && err != io.EOF {
		t.Errorf("a read heard %v", err)
	}
	return err == nil
}

// What a client says of the room for logs is what the keeper keeps to: at once, over
// its own death, and never at the cost of a job that runs.
func TestLimitsReachTheKeeper(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := limited(t, dir, spill.Limits{Stored: 250_000})
	running := newEar(t)
	runs := newUID()
	p := c.Start(shell(runs, "head -c 400000 /dev/zero; echo ready; sleep 600"), running.facts)
	p.NotifyGrowth(messages.Merged, 400_000)
	await[messages.OutputGrew](running, 1)
	var ids []messages.UID
	for i := range 4 {
		id := newUID()
		e := newEar(t)
		p := c.Start(shell(id, fmt.Sprintf("head -c %d /dev/zero", 100_000+i)), e.facts)
		await[messages.TreeEnded](e, 1)
		p.Settle(lastNumber(e))
		ids = append(ids, id)
	}
	for i, want := range []bool{false, false, true, true} {
		if got := there(t, c, ids[i]); got != want {
			t.Errorf("the log of job %d is there: %v", i, got)
		}
	}
	if !there(t, c, runs) {
		t.Error("the log of the running job went")
	}
	_, pid := c.Keeper()
	c.Close(true)
	kill(t, pid)
	c = limited(t, dir, spill.Limits{Stored: 110_000}) // found by the next keeper, and by another client's word
	until(t, "the smaller bound", func() bool { return !there(t, c, ids[2]) || !there(t, c, ids[3]) })
	c.Close(true)
}

// What was settled outlives the keeper, with the order of its streams, unless it is
// so small that the client was told it with the end.
func TestSettledOutputOutlivesTheKeeper(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	id := newUID()
	e := newEar(t)
	p := c.Start(shell(id, "for i in {1..900}; do echo out $i; echo err $i >&2; done", separately), e.facts)
	await[messages.TreeEnded](e, 1)
	before, err := c.Order(id)
	if err != nil {
		t.Fatal(err)
	}
	p.Settle(lastNumber(e))
	until(t, "the file", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "logs/keeper/sessions/*/"+string(id)+".*.log"))
		return len(files) == 3
	})
	c.Close(true)
	kill(t, pid)
	c = open(t, dir)
	for _, s := range []messages.Stream{messages.Stdout, messages.Stderr} {
		log, err := c.Open(id, s)
		if err != nil {
			t.Fatal(err)
		}
		if st := log.State(); st.Size < 6000 || !st.Closed || st.Missing() != 0 {
			t.Errorf("%s: %+v", s, st)
		}
		log.Close()
	}
	after, err := c.Order(id)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Collect(before.Pieces()), slices.Collect(after.Pieces()); !slices.Equal(a, b) || !after.Whole() {
		t.Errorf("%d pieces became %d, whole %v", len(a), len(b), after.Whole())
	}
	c.Close(true)
}

// A keeper that is told to end takes nothing of its jobs' outputs with it, whether they
// are over or end with it.
func TestOutputOutlivesAKeeperThatIsToldToEnd(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	over, runs := newUID(), newUID()
	e, live := newEar(t), newEar(t)
	c.Start(shell(over, "echo over"), e.facts)
	await[messages.TreeEnded](e, 1)
	p := c.Start(shell(runs, "echo runs; exec sleep 600"), live.facts)
	until(t, "what it says", func() bool {
		log, err := p.Output(messages.Merged)
		return err == nil && log.State().Size == 5
	})
	c.Close(true)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
	c = open(t, dir)
	for id, want := range map[messages.UID]string{over: "over\n", runs: "runs\n"} {
		log, err := c.Open(id, messages.Merged)
		if err != nil {
			t.Errorf("%s %v", want, err)
			continue
		}
		text := make([]byte, len(want))
		if _, err := log.ReadAt(text, 0); err != nil || string(text) != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
		log.Close()
	}
	c.Close(true)
}
