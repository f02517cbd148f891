package keeper_test

import (
	"path/filepath"
	"slices"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
	"troupe/spill"
)

// What a quota took of the log of a detached job is told as that, and not as NULs, by
// the next keeper, and behind that by who reads the file without one.
func TestFleetKnowsTheGapsOfDeadKeepers(t *testing.T) {
	root, file := filepath.Join(t.TempDir(), "detached"), filepath.Join(t.TempDir(), "out.log")
	f := openFleet(t, root)
	id, e := newUID(), newEar(t)
	p := f.Start(shell(id, "head -c 100000 /dev/zero; sleep 600", detached, func(s *backends.Spec) {
		s.Log = spill.Plan{File: file, Quota: 5001, Policy: spill.KeepHead}
	}), e.facts)
	s := await[messages.ProcessStarted](e, 1)
	grown(t, p)
	before := stateOf(t, f, id)
	if len(before.Gaps) != 1 || before.Gaps[0].From != 5001 {
		t.Fatalf("the log is %+v", before)
	}
	own := parentOf(s.PID)
	f.Close(true)
	kill(t, own)

	f = openFleet(t, root)
	e = newEar(t)
	p, err := f.Adopt(id, e.facts)
	if err != nil {
		t.Fatal(err)
	}
	await[messages.ProcessLost](e, 1)
	if now := stateOf(t, f, id); now.Size != before.Size || !slices.Equal(now.Gaps, before.Gaps) {
		t.Errorf("the next keeper says %+v of %+v", now, before)
	}
	p.Settle(lastNumber(e))
	f.Close(true)
	ended(t, filepath.Join(root, string(id)))
	f = openFleet(t, root)
	defer f.Close(true)
	if now := stateOf(t, f, id); now.Size != before.Size || !slices.Equal(now.Gaps, before.Gaps) {
		t.Errorf("who reads the file says %+v of %+v", now, before)
	}
	f.Remove(id)
	if left := keeper.ListDetached(root); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func stateOf(t *testing.T, f *keeper.Fleet, id messages.UID) spill.State {
	t.Helper()
	log, err := f.Open(id, messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	return log.State()
}
