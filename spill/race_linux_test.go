package spill

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Readers that come and go while a log moves from memory to a file, is kept,
// loses its middle and is sealed, see every byte that is there, once.
func TestReadersWhileTheLogMoves(t *testing.T) {
	all := text(2 << 20)
	var pipes []*pipe
	for range 4 {
		pipes = append(pipes, newPipe(t))
	}
	base := openFiles()
	d := newDisk(t, func(o *Options) { o.Limits.Files = 2 })
	var wg sync.WaitGroup
	for i, id := range []string{"a", "b", "c", "d"} {
		w := create(t, d, id, Plan{Quota: int64(i%2) * (1 << 20)})
		wg.Go(func() { writeAll(t, d, w, pipes[i], all) })
		for range 3 {
			wg.Go(func() { follow(t, d, id, all) })
		}
	}
	wg.Wait()
	must(t, d.Close())
	if n := openFiles(); n != base {
		t.Errorf("%d descriptors are open, %d were", n, base)
	}
}

// writeAll is a job that writes in pieces of all sizes.
func writeAll(t *testing.T, d *Disk, w *writer, p *pipe, all []byte) {
	r := rand.New(rand.NewPCG(1, uint64(len(w.id))))
	for sent := 0; sent < len(all); {
		n := min(1+r.IntN(40_000), len(all)-sent)
		p.write(t, all[sent:sent+n])
		sent += n
		for {
			_, err := w.Splice(p.r, 1<<20)
			if err == unix.EAGAIN {
				break
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
		if r.IntN(20) == 0 {
			if _, err := d.Keep(w.id, Merged); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.Seal(); err != nil {
		t.Error(err)
	}
}

// follow reads a log to its end, opening it again now and then.
func follow(t *testing.T, d *Disk, id string, all []byte) {
	buf := make([]byte, 30_000)
	for off := int64(0); ; {
		l, err := d.Open(id, Merged)
		if err != nil {
			t.Error(err)
			return
		}
		for range 50 {
			closed := l.State().Closed
			n, err := l.ReadAt(buf, off)
			if err != nil && err != io.EOF {
				t.Error(err)
			}
			got, want := buf[:n], bytes.Clone(all[off:off+int64(n)])
			after := gaps(l.State().Gaps) // one may have opened since the read
			after.blank(want, off)
			after.blank(got, off)
			if !bytes.Equal(got, want) {
				t.Errorf("%s at %d differs", id, off)
				return
			}
			off += int64(n)
			if closed && errors.Is(err, io.EOF) {
				if off != int64(len(all)) {
					t.Errorf("%s ends at %d", id, off)
				}
				l.Close()
				return
			}
		}
		l.Close()
	}
}
