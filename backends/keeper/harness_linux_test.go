package keeper_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// ear hears the facts of one job.
type ear struct {
	t     testing.TB
	mu    sync.Mutex
	heard []messages.ProcessFact
	more  chan struct{}
}

// self is this program: as an ordinary user it runs from a copy.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func newEar(t testing.TB) *ear { return &ear{t: t, more: make(chan struct{})} }

func (e *ear) facts(f messages.ProcessFact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, f)
	close(e.more)
	e.more = make(chan struct{})
}

func (e *ear) all() []messages.ProcessFact {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard[:len(e.heard):len(e.heard)]
}

// await waits for a fact of a kind, the nth of its kind.
func await[F any](e *ear, nth int) F {
	e.t.Helper()
	limit := time.NewTimer(60 * time.Second)
	defer limit.Stop()
	for {
		e.mu.Lock()
		heard, more := e.heard, e.more
		e.mu.Unlock()
		n := 0
		for _, f := range heard {
			if g, ok := any(f).(F); ok {
				if n++; n == nth {
					return g
				}
			}
		}
		select {
		case <-more:
		case <-limit.C:
			e.t.Fatalf("no %T came; heard %+v", *new(F), heard)
		}
	}
}

func count[F any](e *ear) (n int) {
	for _, f := range e.all() {
		if _, ok := any(f).(F); ok {
			n++
		}
	}
	return n
}

// newUID makes what is as long as a ULID, and never the same.
func newUID() messages.UID {
	return messages.UID(fmt.Sprintf("01%024X", time.Now().UnixNano()))
}

// shell is a job that runs a text.
func shell(id messages.UID, text string, change ...func(*backends.Spec)) backends.Spec {
	s := backends.Spec{
		ID: id, Argv: []string{"/bin/bash", "-c", text}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Umask: -1,
		Grace: time.Second, Meta: []byte("meta"),
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func separately(s *backends.Spec) { s.Stdio.Streams = messages.SeparateStreams }

// kill kills a process and waits until it is dead.
func kill(t testing.TB, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("%d is nobody to kill", pid)
	}
	start := startTime(pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the death of "+strconv.Itoa(pid), func() bool { return startTime(pid) != start })
}

// until looks until it is so: for what no event tells of.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); !is(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// startTime is that of a living process, "" of a dead one.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}

// sum is the hash of all of a log.
func sum(t testing.TB, p backends.Process, s messages.Stream) string {
	t.Helper()
	log, err := p.Output(s)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(log, 0, log.State().Size)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// read is all of a log.
func read(t testing.TB, p backends.Process, s messages.Stream) string {
	t.Helper()
	log, err := p.Output(s)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func adopt(t testing.TB, c *keeper.Client, id messages.UID) (backends.Process, *ear) {
	t.Helper()
	e := newEar(t)
	p, err := c.Adopt(id, e.facts)
	if err != nil {
		t.Fatal(err)
	}
	return p, e
}

// fds is how many descriptors a process has.
func fds(pid int) int {
	names, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(names)
}

// endAll ends a keeper and its jobs with the test.
func endAll(t testing.TB, dir string) {
	t.Cleanup(func() {
		c, err := keeper.Open(context.Background(), keeper.ClientOptions{Dir: dir}) // the test's own has ended
		if errors.Is(err, &messages.Error{Code: messages.NotFound}) || errors.Is(err, &messages.Error{Code: messages.Internal}) {
			return // the test has ended it
		}
		if err != nil {
			t.Error(err)
			return
		}
		_, pid := c.Keeper()
		c.Close(false)
		until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
	})
}
