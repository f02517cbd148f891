package keeper

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/oklog/ulid/v2"

	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// An order that is larger than a frame goes another way: in a frame it would break each
// connection that it is sent over.
func TestALargeOrderFitsIntoAFrame(t *testing.T) {
	store, err := spill.OpenStore(spill.Options{Root: filepath.Join(t.TempDir(), "logs"), Node: "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var ends []spill.Writer
	for _, stream := range []uint8{spill.Stdout, spill.Stderr} {
		w, err := store.Create("J1", stream, spill.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, w)
	}
	for i := range 60_000 {
		if _, err := ends[i%2].Append([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range ends {
		if err := w.Seal(); err != nil {
			t.Fatal(err)
		}
	}
	l, other := newLink(100), newLink(100)
	a, b := pair(t)
	l.attach(a, 0)
	s := &server{store: store}
	if err := s.giveOrder(l, message{kind: askLog, gen: 1, job: "J1"}); err != nil {
		t.Fatal(err)
	}
	got := next(t, b, other)
	if len(got) != 1 || got[0].kind != sayLog || got[0].file == nil {
		t.Fatalf("%+v", got)
	}
	got[0].file.Close()
}

// What does not fit into a frame and was not packed is a refusal, and no end of the line.
func TestALineTakesNothingTooLarge(t *testing.T) {
	l, other := newLink(100), newLink(100)
	a, b := pair(t)
	l.attach(a, 0)
	l.send(message{kind: sayLog, gen: 7, job: "J1", body: make([]byte, maxFrame)})
	got := next(t, b, other)
	if len(got) != 1 || got[0].kind != sayRefused || got[0].gen != 7 || got[0].job != "J1" {
		t.Fatalf("%+v", got)
	}
}

// A log whose file was cut is told with a gap, also if it is so small that it is told
// whole.
func TestALogThatWasCutIsNoZeros(t *testing.T) {
	store, err := spill.OpenStore(spill.Options{Root: filepath.Join(t.TempDir(), "logs"), Node: "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &server{store: store}
	for id, size := range map[string]int{"small": 100, "large": 2 * inlineLog} {
		w, err := store.Create(id, spill.Merged, spill.Plan{Durability: spill.OSCrash})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Append(make([]byte, size)); err == nil {
			err = w.Seal()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(w.State().File, 10); err != nil {
			t.Fatal(err)
		}
		l, told := s.describeLog(messages.UID(id), messages.Merged)
		if !told || l.Whole || l.Data != nil {
			t.Errorf("%s: %+v", id, l)
		}
		file, st, err := store.Export(id, spill.Merged)
		if err != nil || len(st.Gaps) != 1 || st.Gaps[0] != (spill.Gap{From: 10, To: int64(size)}) || st.Flags&spill.Tampered == 0 {
			t.Errorf("%s: %+v, %v", id, st, err)
		}
		file.Close()
	}
}

// What a keeper forked and did not live to record is ended by the next one, by its tag.
func TestRemainsWithoutARecordAreEnded(t *testing.T) {
	store, err := spill.OpenStore(spill.Options{Root: filepath.Join(t.TempDir(), "logs"), Node: "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	own, err := engine.New(engine.Options{Store: store, NoCgroup: true})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(false)
	dead := ulid.Make().String()
	left := exec.Command("sleep", "600")
	left.Env = []string{"PATH=" + os.Getenv("PATH"), "TROUPE_TREE=" + dead + ":" + ulid.Make().String()}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{store: store, engine: own}
	if survivors := s.endLeftovers(&journalTable{opened: &entry{Keeper: dead, BootID: "this"}}, "this"); len(survivors) > 0 {
		t.Errorf("%+v", survivors)
	}
	if err := left.Wait(); err == nil || left.ProcessState.String() != "signal: killed" {
		t.Errorf("%v, %v", err, left.ProcessState)
	}
}
