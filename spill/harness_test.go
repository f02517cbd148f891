package spill

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

const testNode = "01JD0000000000000000000000"

// newDisk opens a store in a directory of its own.
func newDisk(t testing.TB, change ...func(*Options)) *Disk {
	t.Helper()
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Node: testNode}
	for _, c := range change {
		c(&o)
	}
	d, err := OpenStore(o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rounds sets how often rapid.Check tries for the rest of the test.
func rounds(t *testing.T, short, long int) {
	t.Helper()
	n := short
	if need.Soak() {
		n = long
	}
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	must(t, f.Value.Set(strconv.Itoa(n)))
	t.Cleanup(func() { must(t, f.Value.Set(before)) })
}

// create makes a log for a test.
func create(t testing.TB, d *Disk, id string, p Plan) *writer {
	t.Helper()
	w, err := d.Create(id, Merged, p)
	must(t, err)
	return w.(*writer)
}

// content reads all of a log.
func content(t testing.TB, d *Disk, id string) []byte {
	t.Helper()
	l, err := d.Open(id, Merged)
	must(t, err)
	defer l.Close()
	return readAll(t, l)
}

func readAll(t testing.TB, l Log) []byte {
	t.Helper()
	b := make([]byte, l.State().Size)
	n, err := l.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b[:n]
}

// corpus is text that differs from place to place.
var corpus = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 8<<20; i++ {
		fmt.Fprintf(&b, "line %d of the text\n", i)
	}
	return b.Bytes()
})

// text is the first n bytes of the corpus.
func text(n int) []byte { return corpus()[:n:n] }

// pipe is a pipe whose write end takes at most a mebibyte without a reader.
type pipe struct{ r, w int }

func newPipe(t testing.TB) *pipe {
	t.Helper()
	var p [2]int
	must(t, unix.Pipe(p[:]))
	for _, fd := range p {
		unix.CloseOnExec(fd)
		must(t, unix.SetNonblock(fd, true))
	}
	enlarge(p[1])
	pp := &pipe{p[0], p[1]}
	t.Cleanup(func() { pp.close(); unix.Close(pp.r) })
	return pp
}

func (p *pipe) write(t testing.TB, b []byte) {
	t.Helper()
	if n, err := unix.Write(p.w, b); n != len(b) {
		t.Fatalf("wrote %d of %d bytes to the pipe: %v", n, len(b), err)
	}
}

func (p *pipe) close() {
	if p.w >= 0 {
		unix.Close(p.w)
		p.w = -1
	}
}

// files are the paths below dir, directories with a slash.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if e.IsDir() {
			rel += "/"
		}
		out = append(out, rel)
		return nil
	})
	if !os.IsNotExist(err) {
		must(t, err)
	}
	return out
}
