package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"troupe/backends"
	"troupe/backends/snapshot"
	"troupe/messages"
	"troupe/spill"
)

// What a maker that was killed has left ends, whether it lives or not, and no other job is
// touched.
func TestFaultRemainsOfAMakerAreEnded(t *testing.T) {
	b := newBench(t, plenty)
	start := func(meta, text string) (messages.UID, backends.Process, chan messages.ProcessFact) {
		heard := make(chan messages.ProcessFact, 64)
		id := messages.UID(fmt.Sprintf("%026d", b.ids.Add(1)))
		proc := b.engine.Start(backends.Spec{
			ID: id, Argv: []string{bash(t), "-c", text}, Env: b.env(), Dir: "/", Umask: -1, OnExit: messages.KillChildren, Meta: []byte(meta),
			Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams}, Log: spill.Plan{Group: "g"},
		}, func(f messages.ProcessFact) { heard <- f })
		if f, started := (<-heard).(messages.ProcessStarted); !started {
			t.Fatalf("%s: %+v", text, f)
		}
		return id, proc, heard
	}
	lives, proc, _ := start(snapshot.Mark, "sleep 600")
	proc.Release()
	over, proc, heard := start(snapshot.Mark, "exit 3")
	end(heard)
	proc.Release()
	other, proc, heard := start("{}", "sleep 601")
	held, err := b.engine.Inventory(context.Background())
	if err != nil || len(held) != 3 {
		t.Fatalf("%+v, %v", held, err)
	}
	forgotten := make(chan messages.UID, 3)
	rest := snapshot.StopLeftovers(b.engine, held, func(id messages.UID) {
		b.forgets.Store(id, b.store.Remove(string(id)))
		forgotten <- id
	})
	if len(rest) != 1 || rest[0].ID != other {
		t.Errorf("what is left is %+v", rest)
	}
	got := map[messages.UID]bool{<-forgotten: true, <-forgotten: true}
	if !got[lives] || !got[over] {
		t.Errorf("forgotten: %v", got)
	}
	if held, err = b.engine.Inventory(context.Background()); err != nil || len(held) != 1 || held[0].ID != other {
		t.Errorf("the engine has %+v, %v", held, err)
	}
	proc.Stop(messages.Cause{By: messages.ByClient}, 0)
	proc.Settle(end(heard))
	b.forgets.Store(other, b.store.Remove(string(other)))
}

// end hears a job to its end, and gives the number of its last fact.
func end(heard <-chan messages.ProcessFact) (last uint64) {
	for exited, closed, ended := false, false, false; !exited || !closed || !ended; {
		switch f := (<-heard).(type) {
		case messages.ProcessExited:
			exited, closed, ended, last = true, closed || f.Last > 0, ended || f.Last > 0, max(last, f.Seq, f.Last)
		case messages.OutputClosed:
			closed, last = true, max(last, f.Seq)
		case messages.TreeEnded:
			ended, last = true, max(last, f.Seq)
		}
	}
	return last
}

// The files of a maker that was killed go, and nothing else does.
func TestFaultFilesOfAMakerAreSwept(t *testing.T) {
	dir := t.TempDir()
	if err := snapshot.Sweep(filepath.Join(dir, "nowhere")); err != nil {
		t.Error(err)
	}
	if err := snapshot.Sweep(dir); err != nil {
		t.Error(err)
	}
	files := filepath.Join(dir, "snapshots")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"snapshot-bash-01A.sh", "snapshot-zsh-01B.sh", "mine"} {
		if err := os.WriteFile(filepath.Join(files, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := snapshot.Sweep(dir); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(files + "/*"); len(left) != 1 || filepath.Base(left[0]) != "mine" {
		t.Errorf("left: %v", left)
	}
	if err := os.Remove(filepath.Join(files, "mine")); err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Sweep(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(files); !os.IsNotExist(err) {
		t.Error("the empty directory stays")
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "snapshot-bash-01A.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, files); err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Sweep(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "snapshot-bash-01A.sh")); err != nil {
		t.Error("it followed a link out of the directory")
	}
}
