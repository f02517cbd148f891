package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// model is what a log must hold, told by what was given to it.
type model struct {
	d    *Disk
	w    *writer
	p    *pipe
	sent []byte // to the log or its pipe
	src  []byte
	read []Log

	got, want []byte
}

func (m *model) next(n int) []byte {
	b := m.src[len(m.sent) : len(m.sent)+n]
	m.sent = append(m.sent, b...)
	return b
}

// drain moves all that is in the pipe, as an engine does.
func (m *model) drain(t *rapid.T, most int64) {
	for {
		n, err := m.w.Splice(m.p.r, most)
		if n < 0 || n > most || n > 0 && err != nil {
			t.Fatalf("splice of at most %d: %d, %v", most, n, err)
		}
		if err == unix.EAGAIN || err == ErrPaused {
			return
		}
		if err != nil && err != ErrQuota {
			t.Fatalf("splice: %v", err)
		}
	}
}

// TestLogModel: whatever sequence of writes, moves and elisions, the bytes read
// are the bytes written outside of gaps, and the size is the offset.
func TestLogModel(t *testing.T) {
	src := text(8 << 20)
	dir := t.TempDir()
	rounds(t, 25, 2000)
	rapid.Check(t, func(t *rapid.T) {
		base := openFiles()
		m := newModel(t, dir, src)
		t.Repeat(map[string]func(*rapid.T){
			"splice": func(t *rapid.T) {
				m.write(t, rapid.SampledFrom([]int{1, 100, 4096, 20_000, 70_000}).Draw(t, "bytes"))
				m.drain(t, rapid.SampledFrom([]int64{1, 4096, 1 << 20}).Draw(t, "most")+100)
			},
			"append": func(t *rapid.T) {
				if m.paused() {
					return
				}
				b := m.next(rapid.SampledFrom([]int{0, 1, 300, 5000, 60_000}).Draw(t, "bytes"))
				n, err := m.w.Append(b)
				for err == ErrQuota {
					var k int
					k, err = m.w.Append(b[n:])
					n += k
				}
				if err == ErrPaused { // the rest is not the log's
					m.sent = m.sent[:len(m.sent)-(len(b)-n)]
				} else if err != nil || n != len(b) {
					t.Fatalf("append of %d: %d, %v", len(b), n, err)
				}
			},
			"open": func(*rapid.T) {
				if len(m.read) == 3 {
					return
				}
				l, err := m.d.Open("j1", Merged)
				if err != nil {
					t.Fatal(err)
				}
				m.read = append(m.read, l)
			},
			"keep": func(t *rapid.T) {
				if path, err := m.d.Keep("j1", Merged); err != nil || path != m.w.State().File {
					t.Fatalf("kept at %q: %v", path, err)
				}
			},
			"check": func(t *rapid.T) {
				if err := errors.Join(m.w.Check(), m.w.Sync()); err != nil {
					t.Fatal(err)
				}
			},
			"": m.check,
		})
		m.finish(t)
		if n := openFiles(); n != base {
			t.Fatalf("%d descriptors are open, %d were", n, base)
		}
	})
}

func newModel(t *rapid.T, dir string, src []byte) *model {
	plan := Plan{
		Group:  rapid.SampledFrom([]string{"", "build", "../x"}).Draw(t, "group"),
		Inline: rapid.SampledFrom([]int64{0, -1, 10_000}).Draw(t, "inline"),
		Quota:  rapid.SampledFrom([]int64{0, 7, 9000, 100_000, 300_000}).Draw(t, "quota"),
		Policy: rapid.SampledFrom([]Policy{Elide, KeepHead, Pause, Kill}).Draw(t, "policy"),
	}
	root, err := os.MkdirTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenStore(Options{Root: root, Node: testNode, Limits: Limits{Files: 1}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Create("j1", Merged, plan)
	if err != nil {
		t.Fatal(err)
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	enlarge(p[1])
	return &model{d: d, w: w.(*writer), p: &pipe{p[0], p[1]}, src: src}
}

// write gives n bytes to the pipe, or as many as there is room for.
func (m *model) write(t *rapid.T, n int) {
	b := m.next(n)
	n, err := unix.Write(m.p.w, b)
	if err != nil && err != unix.EAGAIN {
		t.Fatal(err)
	}
	m.sent = m.sent[:len(m.sent)-len(b)+max(0, n)]
}

// paused reports whether bytes wait in the pipe: nothing may overtake them.
func (m *model) paused() bool { return m.waiting() > 0 }

func (m *model) waiting() int {
	n, err := unix.IoctlGetInt(m.p.r, unix.TIOCINQ)
	if err != nil {
		panic(err)
	}
	return n
}

func (m *model) check(t *rapid.T) {
	st := m.w.State()
	if n := int(st.Size) + m.waiting() + int(m.w.Held()); n != len(m.sent) {
		t.Fatalf("%d bytes were sent, %d are in the log and its pipe", len(m.sent), n)
	}
	plan := m.w.plan
	if kept := st.Size - st.Missing(); kept > plan.Quota {
		t.Fatalf("%d bytes are kept of a quota of %d", kept, plan.Quota)
	}
	if st.Flags != 0 {
		t.Fatalf("nobody has touched the log: %+v", st)
	}
	if len(st.Gaps) > 1 || plan.Policy == Pause && len(st.Gaps) > 0 {
		t.Fatalf("gaps of %s: %v", plan.Policy, st.Gaps)
	}
	if len(st.Gaps) > 0 && st.Size <= plan.Quota {
		t.Fatalf("%d bytes of a quota of %d have the gaps %v", st.Size, plan.Quota, st.Gaps)
	}
	if len(st.Gaps) == 1 {
		g := st.Gaps[0]
		if plan.Policy == Elide && (g.From != plan.head() || st.Size-g.To > plan.Quota-plan.head()) ||
			plan.Policy != Elide && (g.From != plan.Quota || g.To != st.Size) {
			t.Fatalf("a gap %v of %s with the quota %d at %d bytes", g, plan.Policy, plan.Quota, st.Size)
		}
	}
	if st.File != "" {
		fi, err := os.Stat(st.File)
		if err != nil || fi.Size() != st.Size {
			t.Fatalf("the file has %d bytes, the log %d: %v", fi.Size(), st.Size, err)
		}
		if s := stat(t, st.File); s.Blocks*512 > plan.Quota+3*pageSize {
			t.Fatalf("the file takes %d bytes of a quota of %d", s.Blocks*512, plan.Quota)
		}
	} else if st.Size-st.Missing() > max(0, plan.Inline) {
		t.Fatalf("%d bytes are still in memory", st.Size)
	}
	for _, l := range m.read { // a window now, all of it in the end
		from := rapid.Int64Range(0, st.Size).Draw(t, "from")
		m.same(t, l, st, from, min(st.Size, from+window))
	}
}

// window is how much of a log is read after each step.
const window = 32 << 10

// same compares [from, to) with what was sent; gaps read as zeros.
func (m *model) same(t *rapid.T, l Log, st State, from, to int64) {
	m.got, m.want = slices.Grow(m.got[:0], int(to-from))[:to-from], append(m.want[:0], m.sent[from:to]...)
	gaps(st.Gaps).blank(m.want, from)
	n, err := l.ReadAt(m.got, from)
	if n != len(m.got) || err != nil && err != io.EOF || !bytes.Equal(m.got, m.want) {
		t.Fatalf("[%d, %d) is not what was written: %d bytes, %v, %+v", from, to, n, err, st)
	}
}

func (m *model) finish(t *rapid.T) {
	if err := m.w.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.w.Splice(m.p.r, 1); err != ErrSealed {
		t.Fatalf("a sealed log takes bytes: %v", err)
	}
	st := m.w.State()
	for i, l := range m.read {
		m.same(t, l, st, 0, st.Size)
		if i%2 == 0 {
			l.Close()
			continue
		}
		if err := m.d.Remove("j1"); err != nil && err != ErrNotFound {
			t.Fatal(err)
		}
		m.same(t, l, st, 0, st.Size) // a reader outlives the removal
		l.Close()
	}
	if err := m.d.Close(); err != nil {
		t.Fatal(err)
	}
	m.p.close()
	unix.Close(m.p.r)
}

// openFiles counts the descriptors of this process.
func openFiles() int {
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(e)
}

func stat(t interface{ Fatal(...any) }, path string) Stat {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	st, err := kernelSys{}.Stat(fd)
	if err != nil {
		t.Fatal(err)
	}
	return st
}
