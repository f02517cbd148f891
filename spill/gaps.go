package spill

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Gap is a range of a log whose bytes were not kept: [From, To).
type Gap struct {
	From int64 `cbor:"1,keyasint,omitzero"`
	To   int64 `cbor:"2,keyasint,omitzero"`
}

// Len returns the number of missing bytes.
func (g Gap) Len() int64 { return g.To - g.From }

// maxGaps bounds the gaps of a log. A policy makes one. Others come from a file that is
// truncated repeatedly; then neighbours are joined.
const maxGaps = 64

// gaps are ranges in order, not adjacent.
type gaps []Gap

// add makes [from, to) a gap.
func (g gaps) add(from, to int64) gaps {
	if to <= from {
		return g
	}
	i, _ := slices.BinarySearchFunc(g, from, func(a Gap, from int64) int { return cmp.Compare(a.To, from) })
	j := i
	for ; j < len(g) && g[j].From <= to; j++ {
		from, to = min(from, g[j].From), max(to, g[j].To)
	}
	return slices.Replace(g, i, j, Gap{from, to}).bounded()
}

// upTo returns the gaps before to.
func (g gaps) upTo(to int64) gaps {
	var out gaps
	for _, a := range g {
		if a.From < to {
			out = append(out, Gap{a.From, min(a.To, to)})
		}
	}
	return out
}

// bounded joins the nearest neighbours until at most maxGaps are left.
func (g gaps) bounded() gaps {
	for len(g) > maxGaps {
		best := 1
		for i := 2; i < len(g); i++ {
			if g[i].From-g[i-1].To < g[best].From-g[best-1].To {
				best = i
			}
		}
		g[best-1].To = g[best].To
		g = slices.Delete(g, best, best+1)
	}
	return g
}

// total returns the number of missing bytes.
func (g gaps) total() int64 {
	return State{Gaps: g}.Missing()
}

// cover reports whether all of [from, to) is missing.
func (g gaps) cover(from, to int64) bool {
	for _, a := range g {
		if a.From <= from && to <= a.To {
			return true
		}
	}
	return to <= from
}

// keep calls f for each range within [from, to) outside the gaps.
func (g gaps) keep(from, to int64, f func(from, to int64) error) error {
	for _, a := range g {
		if a.To <= from {
			continue
		}
		if a.From >= to {
			break
		}
		if from < a.From {
			if err := f(from, a.From); err != nil {
				return err
			}
		}
		from = a.To
	}
	if from < to {
		return f(from, to)
	}
	return nil
}

// blank zeroes the part of p, which was read at off, that lies in gaps.
func (g gaps) blank(p []byte, off int64) {
	for _, a := range g {
		from, to := max(a.From, off), min(a.To, off+int64(len(p)))
		if from < to {
			clear(p[from-off : to-off])
		}
	}
}

// MissingLog returns a sealed log of size bytes that are all one gap: an output that is
// not kept any more. Size 0 is an empty output.
func MissingLog(size int64) Log { return missingLog(size) }

// IsMissing reports whether a log is a MissingLog of at least one byte.
func IsMissing(l Log) bool {
	m, is := l.(missingLog)
	return is && m > 0
}

type missingLog int64

// State implements Log.
func (m missingLog) State() State {
	s := State{Size: int64(m), Closed: true}
	if m > 0 {
		s.Gaps = []Gap{{From: 0, To: int64(m)}}
	}
	return s
}

// ReadAt implements Log.
func (m missingLog) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(max(int64(m)-off, 0), int64(len(p))))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (missingLog) Close() error { return nil }

// A gap file, also called mark, records the gaps of a log's file. Bytes that were
// removed read as zeros, like zeros that the job wrote; a later store tells them apart
// by the gap file. It is written before the bytes go, so it may name too many, never
// too few.
const (
	markSuffix = ".gaps"
	markHead   = 8
	markEntry  = 16
)

// markPlace returns the directory and name of the gap file of a log's file. ok is false
// if it has none, because no later store takes that file over.
func (b *sharedLog) markPlace(of dirRef, name string) (p dirRef, mark string, ok bool) {
	switch {
	case of.kept:
		return dirRef{}, "", false
	case of.outside != "":
		return dirRef{outside: filepath.Dir(b.plan.Mark)}, filepath.Base(b.plan.Mark), b.plan.Mark != ""
	}
	return of, name + markSuffix, true
}

// mark records the current gaps. open extends the last one to infinity, for bytes that
// are about to be dropped. The caller holds writerMu.
func (w *writer) mark(open bool) error {
	if w.file == nil || !open && w.isMarked() {
		return nil
	}
	p, name := w.file.where()
	return w.markAt(p, name, open)
}

// isMarked reports whether the gap file has exactly the current gaps.
func (b *sharedLog) isMarked() bool { return slices.Equal(b.toMark(), b.marked) }

// toMark returns the entries of the gap file. In front of the gaps may be the offset of the
// first byte in the log's file.
func (b *sharedLog) toMark() gaps {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.base == 0 {
		return slices.Clone(b.gaps)
	}
	return append(gaps{{From: baseEntry, To: b.base}}, b.gaps...)
}

// baseEntry is From of the entry with the offset of the first byte.
const baseEntry = -1

// markAt records the gaps for a file that is, or will be, at a place.
func (b *sharedLog) markAt(of dirRef, name string, open bool) error {
	p, name, ok := b.markPlace(of, name)
	if !ok || b.removed {
		return nil
	}
	now := b.toMark()
	if open {
		now[len(now)-1].To = math.MaxInt64 // else each drop would write it again
	}
	if slices.Equal(now, b.marked) {
		return nil
	}
	err := b.disk.writeMark(p, name, now, b.plan.Durability != Memory)
	if err != nil && !b.disk.gone() { // no later store takes over a directory that is gone
		return err
	}
	b.marked = now
	return nil
}

// writeMark writes in place, without a new file: a full disk allows that, so that a
// quota can still free space.
func (d *Disk) writeMark(p dirRef, name string, g gaps, durable bool) error {
	dir, err := d.openDir(p, p.outside == "")
	if err != nil {
		return err
	}
	defer dir.free()
	h, err := d.openFile(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer h.free()
	text := encodeMark(g)
	n, err := d.sys.Pwrite(h.fd, text, 0)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err == nil && durable {
		err = errors.Join(d.sys.Sync(h.fd), d.sys.Sync(dir.fd))
	}
	return err
}

// encodeMark returns a checksum, the number of gaps, and the two ends of each.
func encodeMark(g gaps) []byte {
	text, _ := binary.Append(make([]byte, markHead), binary.LittleEndian, []Gap(g)) // only an invalid type fails
	binary.LittleEndian.PutUint32(text[4:], uint32(len(g)))
	binary.LittleEndian.PutUint32(text, crc32.ChecksumIEEE(text[4:]))
	return text
}

// decodeMark reverses encodeMark, for a file of size bytes. It also returns the offset of the
// first byte in the file. An empty gap file has no gaps: no byte went after it was made. By a
// damaged one all bytes are missing.
func decodeMark(text []byte, size int64) (g gaps, base int64) {
	if len(text) == 0 {
		return nil, 0
	}
	all := gaps(nil).add(0, size)
	if len(text) < markHead {
		return all, 0
	}
	n := binary.LittleEndian.Uint32(text[4:])
	if n > maxGaps+1 || len(text) < markHead+int(n)*markEntry {
		return all, 0
	}
	text = text[:markHead+int(n)*markEntry]
	if crc32.ChecksumIEEE(text[4:]) != binary.LittleEndian.Uint32(text) {
		return all, 0
	}
	recorded := make([]Gap, n)
	_, _ = binary.Decode(text[markHead:], binary.LittleEndian, recorded)
	if n > 0 && recorded[0].From == baseEntry {
		base, recorded = recorded[0].To, recorded[1:]
	}
	for _, a := range recorded {
		g = g.add(a.From, min(a.To, base+size))
	}
	return g, base
}

// readMark returns what the gap file says of a file of size bytes; no gaps if it does not
// exist.
func (d *Disk) readMark(p dirRef, name string, size int64) (g gaps, base int64, err error) {
	dir, err := d.openDir(p, false)
	if errors.Is(err, unix.ENOENT) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer dir.free()
	h, err := d.openFile(dir, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if errors.Is(err, unix.ENOENT) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer h.free()
	text := make([]byte, markHead+(maxGaps+1)*markEntry)
	n, err := preadFull(d.sys, h.fd, text, 0)
	if err != nil {
		return nil, 0, err
	}
	g, base = decodeMark(text[:n], size)
	return g, base, nil
}

// unmark removes the gap file of a log whose file was removed.
func (b *sharedLog) unmark() {
	if len(b.marked) == 0 || b.plan.File != "" {
		return
	}
	if dir, err := b.disk.openDir(dirRef{group: b.group}, false); err == nil {
		_ = b.disk.sys.Unlink(dir.fd, fileName(b.id, b.stream)+markSuffix) // on failure it goes with the node's directory
		dir.free()
	}
}
