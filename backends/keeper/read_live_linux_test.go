package keeper_test

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

func onPipe(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }

// The live states of jobs come from their keepers, those of detached jobs too, and nothing of jobs
// that are over or unknown.
func TestLiveStatesOfMany(t *testing.T) {
	dir, root := keeperDir(t), filepath.Join(t.TempDir(), "detached")
	f := openFleet(t, root, func(o *keeper.FleetOptions) {
		o.Main = keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}, Build: "test"}
	})
	defer f.Close(false)
	want := map[messages.UID]messages.Awaiting{}
	for _, c := range []struct {
		text   string
		want   messages.Awaiting
		change []func(*backends.Spec)
	}{
		{"read x", messages.AwaitsInput, []func(*backends.Spec){onPipe}},
		{"read -s x", messages.AwaitsSecret, []func(*backends.Spec){onTerminal}},
		{"sleep 600; true", "", nil},
		{"read -s x", messages.AwaitsSecret, []func(*backends.Spec){onTerminal, detached}},
	} {
		id, e := newUID(), newEar(t)
		f.Start(shell(id, c.text, c.change...), e.facts)
		await[messages.ProcessStarted](e, 1)
		want[id] = c.want
	}
	over, ended := newUID(), newEar(t)
	f.Start(shell(over, "true"), ended.facts)
	await[messages.TreeEnded](ended, 1)
	ids := []messages.UID{over, newUID()}
	for id := range want {
		ids = append(ids, id)
	}
	for range 2 * 500 {
		ids = append(ids, newUID()) // so that there are several requests
	}
	until(t, "what each job waits for", func() bool {
		now := f.ReadLive(t.Context(), ids)
		for id, awaits := range want {
			if now[id].Awaiting != awaits || now[id].Processes == 0 || now[id].Memory == 0 || now[id].Ports == nil {
				return false
			}
		}
		return len(now) == len(want)
	})
}

// A keeper that does not answer costs the time that the caller gives, and the others of a fleet
// answer meanwhile.
func TestLiveStatesDoNotWaitForAKeeper(t *testing.T) {
	dir, root := keeperDir(t), filepath.Join(t.TempDir(), "detached")
	f := openFleet(t, root, func(o *keeper.FleetOptions) {
		o.Main = keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}, Build: "test"}
	})
	defer f.Close(false)
	held, apart := newUID(), newUID()
	for id, change := range map[messages.UID]func(*backends.Spec){held: onPipe, apart: detached} {
		e := newEar(t)
		f.Start(shell(id, "sleep 600; true", change), e.facts)
		await[messages.ProcessStarted](e, 1)
	}
	pid := keeper.Holder(dir)
	signal(t, pid, syscall.SIGSTOP)
	defer signal(t, pid, syscall.SIGCONT)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	now := f.ReadLive(ctx, []messages.UID{held, apart})
	if _, read := now[held]; read || now[apart].Processes == 0 {
		t.Errorf("%+v", now)
	}
}

// A keeper of before refuses the request, and a client knows that from a failure.
func TestAnUnknownRequestIsRefused(t *testing.T) {
	dir := keeperDir(t)
	c, err := keeper.Open(t.Context(), keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}, Build: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(false)
	if err := c.AskUnknown(); !errors.Is(err, &messages.Error{Code: messages.Unsupported}) {
		t.Errorf("%v", err)
	}
}
