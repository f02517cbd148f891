package view

import (
	"io"
	"testing"

	"troupe/spill"
)

// fake is a log whose bytes and gaps a test chooses.
type fake struct {
	data []byte
	gaps []spill.Gap
	open bool // live
}

func (f *fake) State() spill.State {
	return spill.State{Size: int64(len(f.data)), Closed: !f.open, Gaps: f.gaps}
}

func (f *fake) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	for _, g := range f.gaps {
		from, to := max(g.From, off), min(g.To, off+int64(n))
		if from < to {
			clear(p[from-off : to-off])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *fake) Close() error { return nil }

// grows is empty when it is first looked at.
type grows struct {
	fake
	looked bool
}

func (g *grows) State() spill.State {
	st := g.fake.State()
	if !g.looked {
		st.Size, g.looked = 0, true
	}
	return st
}

func text(s string) *fake { return &fake{data: []byte(s)} }

// counted is the line index of all of a log.
func counted(t testing.TB, log spill.Log) *spill.LineIndex {
	t.Helper()
	var l spill.LineIndex
	for more := true; more; {
		var err error
		if more, err = l.Advance(log, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

func must(t testing.TB, v View, err error) View {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
