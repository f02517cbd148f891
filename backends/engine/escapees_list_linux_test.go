package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"troupe/messages"
)

// omitting is a kernel whose lists of our children omit one, as while a sibling is reaped.
type omitting struct {
	kernel
	mu   sync.Mutex
	open map[int]bool // descriptors of lists
	pid  int          // the one that is omitted
}

func (s *omitting) OpenAt(dir int, path string, flags int) (int, error) {
	fd, err := s.kernel.OpenAt(dir, path, flags)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && filepath.Base(path) == "children" && strings.HasPrefix(path, procPath(os.Getpid(), "task/")) {
		s.open[fd] = true
	}
	return fd, err
}

func (s *omitting) Close(fd int) error {
	s.mu.Lock()
	delete(s.open, fd)
	s.mu.Unlock()
	return s.kernel.Close(fd)
}

func (s *omitting) Read(fd int, p []byte) (int, error) {
	n, err := s.kernel.Read(fd, p)
	return s.without(fd, p, n), err
}

func (s *omitting) Pread(fd int, p []byte) (int, error) {
	n, err := s.kernel.Pread(fd, p)
	return s.without(fd, p, n), err
}

// without removes the pid from what was read.
func (s *omitting) without(fd int, p []byte, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= 0 || !s.open[fd] {
		return n
	}
	list := append([]byte{' '}, p[:n]...)
	list = bytes.Replace(list, []byte(" "+strconv.Itoa(s.pid)+" "), []byte{' '}, 1)
	return copy(p, list[1:])
}

func (s *omitting) omit(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid = pid
}

// An escapee that is known and that the list of children omits is still one of its job: it keeps
// the tree from its end, and a stop ends it first.
func TestFaultAListOmitsAnEscapee(t *testing.T) {
	sys := &omitting{open: map[int]bool{}}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	l := newLeaver(t, r)
	text := l.leave() + "(setsid " + l.bare("exec sleep 1000") + " &)" + l.echoes() // an orphan at once

	e := r.start(r.spec(text))
	pid := l.pid(e)
	if x := await[messages.ProcessExited](e); x.Children != 1 {
		t.Fatalf("%+v", x)
	}
	sys.omit(pid)
	e.proc.Stop(client(), 0)
	if end := await[messages.TreeEnded](e); len(end.Survivors) > 0 || lives(pid) {
		t.Errorf("process %d after a stop: %+v", pid, end)
	}
	e.over()

	end := newGate(t)
	e = r.start(r.spec(text + "; read x < " + end.path))
	pid = l.pid(e)
	if _, err := r.e.host.orphans.look(); err != nil { // as after the end of another job
		t.Fatal(err)
	}
	sys.omit(pid)
	end.open()
	if x := await[messages.ProcessExited](e); x.Children != 1 || len(x.Survivors) != 1 || x.Survivors[0].PID != pid {
		t.Errorf("process %d: %+v", pid, x)
	}
	e.proc.Stop(client(), 0)
	if end := await[messages.TreeEnded](e); len(end.Survivors) > 0 || lives(pid) {
		t.Errorf("process %d after the exit and a stop: %+v", pid, end)
	}
	e.over()
}
