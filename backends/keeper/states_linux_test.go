package keeper_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"troupe/backends/keeper"
	"troupe/messages"
	"troupe/spill"
)

// The states of many logs are those that each of them tells: of jobs that run, that
// are over, whose streams are apart, and that are detached, also when their keepers
// have ended. Who is not known has none, however many are asked for and
// however long the answer is.
func TestStatesOfMany(t *testing.T) {
	dir, root := keeperDir(t), filepath.Join(t.TempDir(), "detached")
	f := openFleet(t, root, func(o *keeper.FleetOptions) {
		o.Main = keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}, Build: "test"}
	})
	defer f.Close(false)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []messages.UID
	id := func() messages.UID {
		ids = append(ids, newUID())
		return ids[len(ids)-1]
	}
	lives := newEar(t)
	f.Start(shell(id(), "echo lives; read x < "+fifo), lives.facts).NotifyGrowth(messages.Merged, 0)
	await[messages.OutputGrew](lives, 1)
	over := newEar(t)
	f.Start(shell(id(), "echo out; echo error >&2", separately), over.facts)
	await[messages.TreeEnded](over, 1)
	apart := newEar(t)
	f.Start(shell(id(), "echo apart; read x < "+fifo, detached), apart.facts).NotifyGrowth(messages.Merged, 0)
	await[messages.OutputGrew](apart, 1)
	past := newEar(t)
	p := f.Start(shell(id(), "echo it is past", detached), past.facts)
	p.Settle(await[messages.TreeEnded](past, 1).Seq)
	ended(t, filepath.Join(root, string(ids[3])))
	for range 400 {
		ids = append(ids, ids[1]) // so that one answer is many datagrams
	}
	for n := range 2000 {
		ids = append(ids, messages.UID(fmt.Sprintf("%026d", n)))
	}

	states := f.States(ids)
	want := map[spill.Name]int64{
		{ID: string(ids[0]), Stream: 0}: 6, {ID: string(ids[1]), Stream: 1}: 4, {ID: string(ids[1]), Stream: 2}: 6,
		{ID: string(ids[2]), Stream: 0}: 6, {ID: string(ids[3]), Stream: 0}: 11,
	}
	if len(states) != len(want) {
		t.Errorf("%d states were told, want %d: %+v", len(states), len(want), states)
	}
	for name, size := range want {
		log, err := f.Open(messages.UID(name.ID), messages.Stream(name.Stream))
		if err != nil {
			t.Fatal(err)
		}
		alone := log.State()
		_ = log.Close()
		if got := states[name]; got.Size != size || got.Closed != alone.Closed || got.File != alone.File {
			t.Errorf("the state of %+v is %+v, alone %+v, want %d bytes", name, got, alone, size)
		}
	}
}
