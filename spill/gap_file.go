package spill

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A mark is a small file that says what is missing of a log's file. What was taken
// out of that reads as zeros, and so does what the job may have written: a later
// store knows by the mark which is which. It is written before bytes go, so that it
// says too much at the worst.

const (
	markSuffix = ".gaps"
	markHead   = 8
	markEntry  = 16
)

// markPlace is where the mark of a log's file is; false: it has none, since no store
// takes that file over.
func (b *sharedLog) markPlace(of dirRef, name string) (dirRef, string, bool) {
	switch {
	case of.kept:
		return dirRef{}, "", false
	case of.outside != "":
		return dirRef{outside: filepath.Dir(b.plan.Mark)}, filepath.Base(b.plan.Mark), b.plan.Mark != ""
	}
	return of, name + markSuffix, true
}

// mark notes the gaps of the log's file, unless that is done. open says that what
// comes next is missing, too. Called with turn.
func (w *writer) mark(open bool) error {
	if w.file == nil || !open && w.isMarked() {
		return nil
	}
	p, name := w.file.where()
	return w.markAt(p, name, open)
}

// isMarked reports whether the mark says what is missing, no more and no less.
func (b *sharedLog) isMarked() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Equal(b.gaps, b.marked)
}

// markAt is mark of a file that is, or will be, in a place.
func (b *sharedLog) markAt(of dirRef, name string, open bool) error {
	p, name, ok := b.markPlace(of, name)
	if !ok || b.removed {
		return nil
	}
	b.mu.RLock()
	now := slices.Clone(b.gaps)
	b.mu.RUnlock()
	if open {
		now[len(now)-1].To = math.MaxInt64 // else it would be written with every drop
	}
	if slices.Equal(now, b.marked) {
		return nil
	}
	if err := b.disk.writeMark(p, name, now, b.plan.Durability != Memory); err != nil && !b.disk.gone() { // else no later store takes it over
		return err
	}
	b.marked = now
	return nil
}

// writeMark writes in place what changed: a full disk has room for that, so that a
// quota goes on freeing some.
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

// encodeMark is a checksum, how many gaps there are, and where each begins and ends.
func encodeMark(g gaps) []byte {
	text, _ := binary.Append(make([]byte, markHead), binary.LittleEndian, []Gap(g)) // no other error than of a type
	binary.LittleEndian.PutUint32(text[4:], uint32(len(g)))
	binary.LittleEndian.PutUint32(text, crc32.ChecksumIEEE(text[4:]))
	return text
}

// decodeMark takes back encodeMark, for a log of size bytes. Of an empty mark nothing
// went yet; by one that is damaged nobody knows what did, and all is missing.
func decodeMark(text []byte, size int64) gaps {
	if len(text) == 0 {
		return nil
	}
	all := gaps(nil).add(0, size)
	if len(text) < markHead {
		return all
	}
	n := binary.LittleEndian.Uint32(text[4:])
	if n > maxGaps || len(text) < markHead+int(n)*markEntry {
		return all
	}
	text = text[:markHead+int(n)*markEntry]
	if crc32.ChecksumIEEE(text[4:]) != binary.LittleEndian.Uint32(text) {
		return all
	}
	told, g := make([]Gap, n), gaps(nil)
	_, _ = binary.Decode(text[markHead:], binary.LittleEndian, told)
	for _, a := range told {
		g = g.add(a.From, min(a.To, size))
	}
	return g
}

// readMark is what a mark says of a log of size bytes: nothing if it is not there.
func (d *Disk) readMark(p dirRef, name string, size int64) (gaps, error) {
	dir, err := d.openDir(p, false)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.free()
	h, err := d.openFile(dir, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer h.free()
	text := make([]byte, markHead+maxGaps*markEntry)
	n, err := preadFull(d.sys, h.fd, text, 0)
	if err != nil {
		return nil, err
	}
	return decodeMark(text[:n], size), nil
}

// unmark removes the mark of a log in the store, whose file is gone.
func (b *sharedLog) unmark() {
	if len(b.marked) == 0 || b.plan.File != "" {
		return
	}
	if dir, err := b.disk.openDir(dirRef{group: b.group}, false); err == nil {
		_ = b.disk.sys.Unlink(dir.fd, fileName(b.id, b.stream)+markSuffix) // else it goes with the node's directory
		dir.free()
	}
}
