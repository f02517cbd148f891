package spill

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkSplice moves a gibibyte from a process into its log; BenchmarkCat is what a user
// would type (scenario spill of docs/performance.md).
func BenchmarkSplice(b *testing.B) {
	d := newDisk(b)
	b.SetBytes(1 << 30)
	for i := range b.N {
		id := "j" + string(rune('a'+i%26))
		w := create(b, d, id, Plan{})
		var p [2]int
		must(b, unix.Pipe2(p[:], unix.O_CLOEXEC))
		enlarge(p[0])
		out := os.NewFile(uintptr(p[1]), "pipe")
		c := producer()
		c.Stdout = out
		must(b, c.Start())
		out.Close()
		for {
			_, err := w.Splice(p[0], 1<<20)
			if err == io.EOF {
				break
			}
			if errors.Is(err, unix.EAGAIN) {
				fds := []unix.PollFd{{Fd: int32(p[0]), Events: unix.POLLIN}}
				_, _ = unix.Poll(fds, -1)
				continue
			}
			must(b, err)
		}
		must(b, c.Wait())
		unix.Close(p[0])
		if n := w.State().Size; n != 1<<30 {
			b.Fatalf("%d bytes arrived", n)
		}
		must(b, w.Seal())
		b.StopTimer()
		must(b, d.Remove(id))
		b.StartTimer()
	}
}

func BenchmarkCat(b *testing.B) {
	path := filepath.Join(b.TempDir(), "out")
	b.SetBytes(1 << 30)
	for range b.N {
		f, err := os.Create(path)
		must(b, err)
		p := producer()
		cat := exec.Command("cat")
		pipe, err := p.StdoutPipe()
		must(b, err)
		cat.Stdin, cat.Stdout = pipe, f
		must(b, p.Start())
		must(b, cat.Start())
		must(b, errors.Join(p.Wait(), cat.Wait()))
		f.Close()
		b.StopTimer()
		must(b, os.Remove(path))
		b.StartTimer()
	}
}

func producer() *exec.Cmd {
	c := exec.Command("head", "-c", "1G", "/dev/zero")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// BenchmarkSmall is what the log costs a job that prints one line.
func BenchmarkSmall(b *testing.B) {
	d := newDisk(b)
	p := newPipe(b)
	line, buf := []byte("hi\n"), make([]byte, 100)
	b.ReportAllocs()
	for i := range b.N {
		id := "j" + strconv.Itoa(i)
		w := create(b, d, id, Plan{})
		p.write(b, line)
		_, err := w.Splice(p.r, 1<<20)
		must(b, err)
		must(b, w.Seal())
		l, err := d.Open(id, Merged)
		must(b, err)
		if n, _ := l.ReadAt(buf, 0); n != len(line) {
			b.Fatal(n)
		}
		must(b, l.Close())
	}
}
