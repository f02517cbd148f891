package spill

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// torn writes half of what a refused write was to write.
type torn struct{ faulty }

func (f *torn) Pwrite(fd int, p []byte, off int64) (int, error) {
	err := f.fail("pwrite")
	if err != nil {
		p = p[:len(p)/2]
	}
	n, werr := f.kernelSys.Pwrite(fd, p, off)
	if err != nil {
		return 0, err
	}
	return n, werr
}

// deaths are the logs that lose bytes, within pages and beyond.
func deaths(outside string) map[string]Plan {
	plans := map[string]Plan{}
	for _, policy := range []Policy{Elide, KeepHead} {
		p := Plan{Policy: policy, Quota: 5000}
		plans["memory "+string(policy)] = p
		p.Durability = OSCrash
		plans["file "+string(policy)] = p
		p.Durability, p.File, p.Mark = "", filepath.Join(outside, string(policy)+".log"), filepath.Join(outside, string(policy)+".mark")
		plans["given "+string(policy)] = p
	}
	return plans
}

// A store dies before any of its calls, between the note of a gap and the gap too, or
// within a write: the next one tells no byte that was not written, and as missing only
// what the first meant to take.
func TestFaultNoByteIsInvented(t *testing.T) {
	for name := range deaths("") {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, half %v", name, half), func(t *testing.T) {
				t.Parallel() // they wait for the disk
				n := 1
				for ; playDeath(t, name, half, n); n++ {
				}
				if n < 20 {
					t.Fatalf("only %d calls were made", n)
				}
			})
		}
	}
}

// playDeath ends the store before its nth call and reports whether there was one.
func playDeath(t *testing.T, name string, half bool, nth int) bool {
	t.Helper()
	dir := t.TempDir()
	plan := deaths(dir)[name]
	var sys torn
	o := Options{Root: filepath.Join(dir, "root"), Node: "keeper", Sys: &sys}
	if !half {
		o.Sys = &sys.faulty
	}
	d, err := OpenStore(o)
	must(t, err)
	w := create(t, d, "j", plan)
	calls := 0
	sys.set(func(string) error {
		if calls++; calls >= nth {
			return unix.EIO
		}
		return nil
	})
	written := text(14_000)
	for step := 0; w.State().Size < int64(len(written)) && step < 30; step++ {
		off := int(w.State().Size)
		_, _ = w.Append(written[off:min(off+1000, len(written))])
		if s := w.State(); step == 9 && s.File != "" {
			_ = os.Truncate(s.File, s.Size/3)
		}
		if step == 11 {
			_ = w.toFile()
		}
	}
	meant := gaps(w.State().Gaps)
	die(d)
	d.cache.shrink()
	died := calls >= nth
	if got, ok := afterDeath(t, dir, plan, written); ok && !half {
		for _, g := range got.Gaps {
			if !meant.cover(g.From, g.To) {
				t.Fatalf("died before call %d: the gaps %v became %v", nth, meant, got.Gaps)
			}
		}
	}
	if t.Failed() {
		t.Fatalf("it died before call %d", nth)
	}
	return died
}

// afterDeath opens what a dead store has left of a log, and compares it.
func afterDeath(t *testing.T, dir string, plan Plan, written []byte) (State, bool) {
	t.Helper()
	d, err := OpenStore(Options{Root: filepath.Join(dir, "root"), Node: "keeper"})
	must(t, err)
	defer d.Close()
	must(t, d.Recover())
	if plan.File != "" {
		must(t, d.Reclaim("j", Merged, plan.File, plan.Mark))
	}
	log, err := d.Open("j", Merged)
	if err == ErrNotFound {
		return State{}, false // it was not in a file yet
	}
	must(t, err)
	defer log.Close()
	s := log.State()
	want := slices.Clone(written[:s.Size])
	gaps(s.Gaps).blank(want, 0)
	if !bytes.Equal(readAll(t, log), want) {
		t.Errorf("bytes were invented in %d without %v", s.Size, s.Gaps)
	}
	return s, true
}

const floodDir = "TROUPE_TEST_FLOOD_DIR"

// The same, of a process that is killed at an instant of no meaning.
func TestFaultNoByteIsInventedBehindAKill(t *testing.T) {
	if said := os.Getenv(floodDir); said != "" {
		dir, name, _ := strings.Cut(said, ":")
		flood(t, dir, deaths(dir)[name])
	}
	for name := range deaths("") {
		if strings.HasPrefix(name, "file") {
			continue // it waits for the disk most of the time
		}
		for i := range 2 {
			dir := t.TempDir()
			child := exec.Command(os.Args[0], "-test.run=^TestFaultNoByteIsInventedBehindAKill$")
			child.Env = append(os.Environ(), floodDir+"="+dir+":"+name)
			says, err := child.StdoutPipe()
			must(t, err)
			must(t, child.Start())
			_, err = io.ReadFull(says, make([]byte, 20+i*77)) // as many pieces are in the log
			_, _ = child.Process.Kill(), child.Wait()
			must(t, err)
			s, ok := afterDeath(t, dir, deaths(dir)[name], flooded())
			if !ok || len(s.Gaps) == 0 || s.Gaps[0].From == 0 {
				t.Errorf("%s: it left %+v, %v", name, s, ok)
			}
		}
	}
}

func flooded() []byte { return bytes.Repeat([]byte("a line of it\n"), 200_000) }

// flood is the process that is killed: it fills a log far beyond its quota.
func flood(t *testing.T, dir string, plan Plan) {
	d, err := OpenStore(Options{Root: filepath.Join(dir, "root"), Node: "keeper"})
	must(t, err)
	plan.Inline = -1
	w := create(t, d, "j", plan)
	for piece := range slices.Chunk(flooded(), 1000) {
		_, err := w.Append(piece)
		must(t, err)
		_, err = os.Stdout.WriteString(".")
		must(t, err)
	}
	os.Exit(0)
}
