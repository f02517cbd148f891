package keeper_test

import (
	"errors"
	"fmt"
	"io"
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
	p.Watch(messages.Merged, 400_000)
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
