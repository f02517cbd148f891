package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/backends/pipe"
)

// Fifty at once do not get in each other's way: each has its own output, status
// and end, and nothing is left of any.
func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	var runs []*process
	for i := range 50 {
		p := program(t, "run", "--grace", "1s", fmt.Sprintf("sleep 600 & echo $!; echo %d $$; seq 1 20000; exit %d", i, i))
		p.Env = append(p.Env, "TMPDIR="+tmp)
		runs = append(runs, p.start())
	}
	var want strings.Builder
	sequence(&want, 20000)
	for i, p := range runs {
		left := p.line()
		var who, pid int
		if _, err := fmt.Sscan(p.line(), &who, &pid); err != nil || who != i {
			t.Errorf("run %d has the output of %d: %v", i, who, err)
		}
		if p.rest() != want.String() {
			t.Errorf("run %d has lost some of its output", i)
		}
		p.ends(i)
		gone(t, left, fmt.Sprint(pid))
	}
	untouched(t, tmp)
}

// Many clients that wait for one job are connections of as many programs: each waits, and
// no other client is shut out.
func TestManyWaitAtOnce(t *testing.T) {
	t.Parallel()
	const many = 80
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	d.beside("run", "-b", "--name", "awaited", "read x < gate; exit 5").start().ends(0)
	var waits []*process
	for range many {
		waits = append(waits, d.beside("wait", "awaited").start())
	}
	for connected := 0; connected < many; {
		p := d.beside("stats", "--json").start()
		var stats struct{ Connections int }
		if err := json.Unmarshal([]byte(p.rest()), &stats); err != nil {
			t.Fatal(err)
		}
		p.ends(0)
		connected = stats.Connections
	}
	open()
	for _, p := range waits {
		p.ends(5)
	}
}

// untouched checks that no run has left a file in a temporary directory.
func untouched(t *testing.T, tmp string) {
	t.Helper()
	err := filepath.WalkDir(tmp, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s was left", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The next run cleans up after a killed troupe.
func TestTheNextRunClearsUp(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "seq 1 100000; echo > written; cat")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	written := post(t, p.file("written"))
	p.start()
	_, _ = p.out.Discard(500_000)
	written()
	p.dies()
	_ = in.Close() // where there are no cgroups, the command ends by itself
	p.followed()
	if err := os.Remove(p.file("written")); err != nil {
		t.Fatal(err)
	}
	untouched(t, p.dir)
}

// So is a text that is too long for an argument, which may hold a secret.
func TestTheNextRunRemovesALongText(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "echo $0; cat #"+strings.Repeat("x", pipe.MaxWord))
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	text := p.start().line()
	if fi, err := os.Stat(text); err != nil || fi.Size() < pipe.MaxWord || !strings.HasPrefix(text, p.dir) {
		t.Fatalf("its text is in %q: %v", text, err)
	}
	p.dies()
	_ = in.Close() // where there are no cgroups, the command ends by itself
	p.followed()
	untouched(t, p.dir)
}

// dies kills troupe itself.
func (p *process) dies() {
	p.t.Helper()
	p.send(syscall.SIGKILL)
	<-p.ended
}

// followed runs something else in the same temporary directory.
func (p *process) followed() {
	p.t.Helper()
	next := program(p.t, "run", "echo hi")
	next.Env = append(next.Env, "TMPDIR="+p.dir)
	next.start()
	if got := next.rest(); got != "hi\n" {
		p.t.Errorf("the next run printed %q", got)
	}
	next.ends(0)
}
