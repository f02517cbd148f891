package screen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// catchUp draws the part of the log that was not drawn yet, while more returns true.
func (d *jobScreen) catchUp(t backends.Terminal, log spill.Log, fresh func(messages.Terminal) *emulator, more func() bool) error {
	st := log.State()
	if d.term == nil || d.term.sequences.at > st.Size || st.Size-d.term.sequences.at > window {
		if err := d.begin(t, log, st, fresh, more); err != nil {
			return err
		}
	}
	for d.term.sequences.at < st.Size && more() {
		at := d.term.sequences.at
		if gap, ok := gapAt(st, at); ok {
			d.term.skipGap(min(gap.To, st.Size))
			continue
		}
		d.resize(t.Sizes, at)
		p, err := read(log, at, until(at, st, t.Sizes))
		if err != nil {
			return err
		}
		if len(p) == 0 {
			return nil // another process truncated the file
		}
		if d.term.draw(p, more) < len(p) {
			return nil
		}
	}
	d.resize(t.Sizes, d.term.sequences.at)
	return nil
}

// begin makes an emulator for the end of a log. Earlier output contributes its modes
// only: a full-screen program redraws often enough.
func (d *jobScreen) begin(t backends.Terminal, log spill.Log, st spill.State, fresh func(messages.Terminal) *emulator, more func() bool) error {
	from := max(0, st.Size-window)
	begin := max(0, from-maxModeScan)
	for _, g := range st.Gaps {
		if g.To <= st.Size && g.To > begin {
			begin = g.To
		}
	}
	from = max(from, begin)
	d.sizes = nil
	was := d.term
	d.term = fresh(sizeAt(t.Sizes, from))
	k := &modeSink{modes: d.term.modes}
	s := sequenceParser{to: k, at: begin}
	if was != nil && was.sequences.at >= begin && was.sequences.at <= from { // the old emulator's modes save part of the scan
		k.modes, k.name, s = was.modes, was.name, was.sequences
		s.to = k
	}
	for s.at < from && more() {
		p, err := read(log, s.at, min(from, s.at+readSize))
		if err != nil {
			return err
		}
		if len(p) == 0 {
			break
		}
		s.take(p)
	}
	if s.at < from { // out of time
		s = sequenceParser{at: from}
	}
	s.to = d.term
	d.term.sequences = s
	d.term.adopt(k)
	return nil
}

// resize applies changes of size up to a byte.
func (d *jobScreen) resize(sizes []backends.SizeChange, at int64) {
	for len(sizes) > 0 && sizes[len(sizes)-1].From > at {
		sizes = sizes[:len(sizes)-1]
	}
	if !slices.Equal(sizes, d.sizes) {
		d.sizes = slices.Clone(sizes)
		d.term.Resize(sizeAt(sizes, at))
	}
}

// sizeAt returns the size of a terminal at a byte.
func sizeAt(sizes []backends.SizeChange, at int64) messages.Terminal {
	var size messages.Terminal
	for i, s := range sizes {
		if i == 0 || s.From <= at {
			size = s.Size
		}
	}
	return size
}

// until returns the end of the next read from at.
func until(at int64, st spill.State, sizes []backends.SizeChange) int64 {
	to := min(at+readSize, st.Size)
	for _, g := range st.Gaps {
		if g.From > at {
			to = min(to, g.From)
		}
	}
	for _, s := range sizes {
		if s.From > at {
			to = min(to, s.From)
		}
	}
	return to
}

func gapAt(st spill.State, at int64) (spill.Gap, bool) {
	for _, g := range st.Gaps {
		if g.From <= at && at < g.To {
			return g, true
		}
	}
	return spill.Gap{}, false
}

func read(log spill.Log, from, to int64) ([]byte, error) {
	p := make([]byte, to-from)
	n, err := log.ReadAt(p, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return p[:n], nil
}

// skipGap skips bytes that were not kept, and drops a sequence that they cut.
func (t *emulator) skipGap(to int64) {
	t.flushAll()
	t.sequences = sequenceParser{to: t, at: to}
}

// adopt applies the modes found by a scan.
func (t *emulator) adopt(k *modeSink) {
	t.modes, t.name = k.modes, k.name
	if t.modes.alt {
		t.put("\x1b[?1047h")
	}
	if t.modes.region = t.modes.region && t.modes.bottom <= t.size.Rows; t.modes.region {
		t.put(fmt.Sprintf("\x1b[%d;%dr", t.modes.top+1, t.modes.bottom))
	}
	if !t.modes.set[autoWrap] {
		t.put("\x1b[?7l")
	}
	t.charset()
}

// modeSink is a parserSink that records modes only.
type modeSink struct {
	modes modes
	name  string
}

func (k *modeSink) text([]byte)        {}
func (k *modeSink) char(rune, bool)    {}
func (k *modeSink) colour(int, []byte) {}
func (k *modeSink) title(p []byte)     { k.name = title(p) }

func (k *modeSink) control(b byte) { k.modes.shift(b) }

func (k *modeSink) escape(inter, final byte) {
	if inter == 0 && final == 'c' {
		k.modes.reset()
		k.name = ""
	}
	k.modes.escape(inter, final)
}

func (k *modeSink) csi(c sequence) {
	switch {
	case c.inter == '!' && c.final == 'p' && c.prefix == 0:
		k.modes.softReset()
	case k.modes.foreignTo(c):
	case c.inter != 0:
	case c.final == 'u' && c.prefix != 0:
		k.modes.keyboard(c)
	case c.final == 'r' && c.prefix == 0:
		k.modes.margins(c.param(0, 1), c.param(1, maxNumber))
	case c.final == 's' && c.prefix == 0:
		k.modes.save()
	case c.final == 'u':
		k.modes.restore()
	case c.final == 'h' || c.final == 'l':
		for _, mode := range c.params {
			k.modes.change(mode, c.prefix, c.final == 'h')
			if c.prefix == '?' {
				k.screen(mode, c.final == 'h')
			}
		}
	}
}

// screen switches screens. It saves the cursor before and restores it after, as the
// mode asks.
func (k *modeSink) screen(mode int, on bool) {
	saves := mode == savedCursor || mode == altScreenSaved && on != k.modes.alt
	if on && saves {
		k.modes.save()
	}
	if mode == altScreen47 || mode == altScreen || mode == altScreenSaved {
		k.modes.alt = on
	}
	if !on && saves {
		k.modes.restore()
	}
}

// querySink is a parserSink that detects queries.
type querySink struct{ asked bool }

func (a *querySink) text([]byte)       {}
func (a *querySink) char(rune, bool)   {}
func (a *querySink) control(byte)      {}
func (a *querySink) escape(byte, byte) {}
func (a *querySink) title([]byte)      {}

func (a *querySink) colour(osc int, what []byte) { a.asked = a.asked || isColourQuery(osc, what) }

func (a *querySink) csi(c sequence) {
	a.asked = a.asked || c.final == 'c' || c.final == 'n' || c.final == 'p' && c.inter == '$'
}

// hasQuery reports whether bytes [from, to) of a log may contain a query of the
// terminal. A query that began up to leadIn bytes earlier counts, too.
func hasQuery(log spill.Log, from, to int64) (bool, error) {
	p, err := read(log, max(0, from-leadIn), max(to, from))
	if err != nil {
		return false, err
	}
	if bytes.IndexByte(p, 0x1b) < 0 {
		return false, nil
	}
	a := &querySink{}
	s := sequenceParser{to: a}
	s.take(p)
	return a.asked, nil
}
