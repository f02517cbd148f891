package keeper_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	liveshell "troupe/backends/shell"
	"troupe/messages"
)

// A daemon of the tests is this program in another role: it connects to the
// keeper and does one thing, until it is killed.
const daemonArg = "daemon-role"

// mainDaemon plays a daemon: "watch" a job that runs, or "spawn" one.
func mainDaemon(args []string) (code int, ours bool) {
	if len(args) < 4 || args[0] != daemonArg {
		return 0, false
	}
	dir, what, id := args[1], args[2], messages.UID(args[3])
	c, err := keeper.Open(context.Background(), keeper.ClientOptions{Dir: dir, Build: "test"})
	if err != nil {
		fmt.Println("error", err)
		return 1, true
	}
	fmt.Println("open")
	switch what {
	case "shell":
		liveDaemon(c, liveshell.Options{})
	case "shell-pty":
		liveDaemon(c, shellsOnTerminals)
	case "spawn":
		c.Start(shell(id, args[4]), func(messages.ProcessFact) {})
		fmt.Println("sent")
	case "watch":
		var p backends.Process
		ready := make(chan struct{})
		p, err = c.Adopt(id, func(f messages.ProcessFact) {
			if g, ok := f.(messages.OutputGrew); ok {
				<-ready
				go p.NotifyGrowth(g.Stream, g.Size)
			}
		})
		if err != nil {
			fmt.Println("error", err)
			return 1, true
		}
		for s := range messages.Stream(3) {
			p.NotifyGrowth(s, 0)
		}
		close(ready)
		fmt.Println("watching")
	}
	select {} // until it is killed
}

// daemon starts one and waits until it says a word.
func daemon(t *testing.T, word string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self(t), append([]string{daemonArg}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch {
		case lines.Text() == word:
			return cmd
		case strings.HasPrefix(lines.Text(), "error"):
			t.Fatal(lines.Text())
		}
	}
	t.Fatal("the daemon died")
	return nil
}

func dies(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// lines writes text that tells where it was cut: n lines of 64 bytes.
const lines = `awk 'BEGIN { for (i = 0; i < %d; i++) printf "%%-63d\n", i; exit 0 }'`

func linesSum(n int) string {
	h := sha256.New()
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%-63d\n", i)
		if b.Len() > 1<<20 {
			h.Write(b.Bytes())
			b.Reset()
		}
	}
	h.Write(b.Bytes())
	return fmt.Sprintf("%x", h.Sum(nil))
}

// A daemon that is killed again and again costs no byte and no status (F01, F02),
// and the keeper has what it had before (F08).
func TestDaemonDiesOverAStream(t *testing.T) {
	const n = 200 << 20 / 64
	for _, c := range []struct {
		name    string
		change  func(*backends.Spec)
		text    string
		streams []messages.Stream
		n       int
	}{
		{"merged", func(*backends.Spec) {}, fmt.Sprintf(lines, n) + "; exit 7", []messages.Stream{messages.Merged}, n},
		{"separate", separately, fmt.Sprintf(lines, n/2) + " & " + fmt.Sprintf(lines, n/2) + " >&2 & wait; exit 7", []messages.Stream{messages.Stdout, messages.Stderr}, n / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := keeperDir(t)
			first := open(t, dir)
			_, pid := first.Keeper()
			endAll(t, dir)
			id := newUID()
			e := newEar(t)
			before := fds(pid)
			first.Start(shell(id, "read -t 600 < <(sleep 0.2); "+c.text, c.change), e.facts)
			await[messages.ProcessStarted](e, 1)
			first.Close(true)
			for range 20 {
				d := daemon(t, "watching", dir, "watch", string(id))
				pause(time.Duration(rand.IntN(40)) * time.Millisecond)
				dies(d)
			}
			last := open(t, dir)
			p, e := adopt(t, last, id)
			if f := await[messages.ProcessExited](e, 1); f.Status.Code != 7 || f.Cause.By != messages.ByNone {
				t.Errorf("it ended with %+v", f)
			}
			await[messages.OutputClosed](e, 1)
			want := linesSum(c.n)
			for _, s := range c.streams {
				if got := sum(t, p, s); got != want {
					t.Errorf("%s differs from what was written", s)
				}
			}
			await[messages.TreeEnded](e, 1)
			p.Settle(lastNumber(e))
			until(t, "as few descriptors as before, but for those that are kept for the next log", func() bool { return fds(pid) <= before+12 })
			if _, now := last.Keeper(); now != pid {
				t.Error("the keeper is another one")
			}
			last.Close(false)
		})
	}
}

func pause(d time.Duration) { <-time.After(d) }

func lastNumber(e *ear) (last uint64) {
	for _, f := range e.all() {
		switch f := f.(type) {
		case messages.ProcessExited:
			last = max(last, f.Seq, f.Last)
		case messages.OutputClosed:
			last = max(last, f.Seq)
		case messages.TreeEnded:
			last = max(last, f.Seq)
		case messages.ProcessLost:
			last = max(last, f.Seq)
		case messages.ProcessFailed:
			last = max(last, f.Seq)
		}
	}
	return last
}

// Whenever a daemon dies around a start, the job is there once or not at all (F03).
func TestDaemonDiesAroundAStart(t *testing.T) {
	dir := keeperDir(t)
	first := open(t, dir)
	endAll(t, dir)
	first.Close(true)
	out := t.TempDir()
	ran := 0
	for i := range 20 {
		id := newUID()
		file := out + "/" + strconv.Itoa(i)
		word := []string{"open", "sent"}[i%2]
		d := daemon(t, word, dir, "spawn", string(id), "echo x >> "+file+"; exit 3")
		pause(time.Duration(rand.IntN(3)) * time.Millisecond)
		dies(d)
		c := open(t, dir)
		e := newEar(t)
		p, err := c.Adopt(id, e.facts)
		known := err == nil
		if !known { // the next daemon starts it anew, under the same id
			p = c.Start(shell(id, "echo x >> "+file+"; exit 3"), e.facts)
		}
		if f := await[messages.ProcessExited](e, 1); f.Status.Code != 3 {
			t.Errorf("%+v", f)
		}
		if text, _ := os.ReadFile(file); string(text) != "x\n" {
			t.Errorf("known %v: it ran %d times", known, bytes.Count(text, []byte("x")))
		}
		if known {
			ran++
		}
		await[messages.TreeEnded](e, 1)
		p.Settle(lastNumber(e))
		c.Close(true)
	}
	t.Logf("%d of 20 starts had reached the keeper", ran)
}

// A job that ends while nobody is there is told of, once, until it is settled
// (F05, F46).
func TestExitWithoutAClient(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	endAll(t, dir)
	for i := range 20 {
		id := newUID()
		e := newEar(t)
		c.Start(shell(id, fmt.Sprintf("echo %d; exit %d", i, i)), e.facts)
		c.Close(true)
		c = open(t, dir)
		_, first := adopt(t, c, id)
		f := await[messages.ProcessExited](first, 1)
		c.Close(true)
		c = open(t, dir)
		p, second := adopt(t, c, id)
		g := await[messages.ProcessExited](second, 1)
		if f.Status.Code != i || g.Status.Code != i || f.Seq != g.Seq {
			t.Errorf("%d: %+v, then %+v", i, f, g)
		}
		await[messages.OutputClosed](second, 1)
		await[messages.TreeEnded](second, 1)
		if text := read(t, p, messages.Merged); text != fmt.Sprintf("%d\n", i) {
			t.Errorf("%d: it wrote %q", i, text)
		}
		if n := count[messages.ProcessExited](second); n != 1 {
			t.Errorf("%d: told %d times", i, n)
		}
		p.Settle(lastNumber(second))
		c.Close(true)
		c = open(t, dir)
		if _, err := c.Adopt(id, second.facts); err == nil {
			t.Errorf("%d: it is known although it was settled", i)
		}
	}
	c.Close(false)
}

// The keeper insures a deadline while nobody is there.
func TestDeadlineWithoutAClient(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	endAll(t, dir)
	id := newUID()
	e := newEar(t)
	c.Start(shell(id, "echo ready; sleep 600", func(s *backends.Spec) { s.Deadline = 300 * time.Millisecond }), e.facts)
	started := await[messages.ProcessStarted](e, 1)
	c.Close(true)
	until(t, "the end of the job", func() bool { return startTime(started.PID) == "" })
	c = open(t, dir)
	_, e = adopt(t, c, id)
	if f := await[messages.ProcessExited](e, 1); f.Cause.By != messages.ByDeadline || f.Cause.Signal != "TERM" {
		t.Errorf("ended by %+v", f.Cause)
	}
	c.Close(false)
}

// A hundred daemons that die leave nothing in the keeper (F08).
func TestDaemonsLeaveNothing(t *testing.T) {
	dir := keeperDir(t)
	first := open(t, dir)
	_, pid := first.Keeper()
	endAll(t, dir)
	id := newUID()
	e := newEar(t)
	first.Start(shell(id, "echo ready; sleep 600"), e.facts)
	await[messages.ProcessStarted](e, 1)
	first.Close(true)
	dies(daemon(t, "watching", dir, "watch", string(id))) // the first has the keeper make what it keeps
	before, threads := fds(pid), threadsOf(pid)
	const deaths = 30
	for range deaths {
		dies(daemon(t, "watching", dir, "watch", string(id)))
	}
	until(t, fmt.Sprintf("as few descriptors as before, %d (now %d),", before, fds(pid)), func() bool { return fds(pid) <= before+1 }) // the first's connection may not have been there
	if now := threadsOf(pid); now > threads+deaths/2 {                                                                                 // a busy machine makes some, and the runtime ends none
		t.Errorf("%d threads before, %d after", threads, now)
	}
	c := open(t, dir)
	p, e := adopt(t, c, id)
	p.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0)
	await[messages.TreeEnded](e, 1)
	c.Close(false)
}

func threadsOf(pid int) int {
	names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(names)
}

// No byte of output passes through the keeper's memory.
func TestOutputIsNotRead(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	_, pid := c.Keeper()
	before := readBytes(t, pid)
	e := newEar(t)
	// The count is taken while the job lives: with its end the kernel adds its own.
	p := c.Start(shell(newUID(), "head -c 314572800 /dev/zero; sleep 600"), e.facts)
	p.NotifyGrowth(messages.Merged, 300<<20-1)
	await[messages.OutputGrew](e, 1)
	if n := readBytes(t, pid) - before; n > 1<<20 {
		t.Errorf("the keeper read %d bytes", n)
	}
	c.Close(false)
}

// readBytes is rchar of a process.
func readBytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "rchar: ")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What was noted is what the next daemon finds.
func TestNoteOutlivesTheDaemon(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	endAll(t, dir)
	e := newEar(t)
	id := newUID()
	p := c.Start(shell(id, "sleep 600"), e.facts)
	note, err := json.Marshal(map[string]string{"scope": "main"})
	if err != nil {
		t.Fatal(err)
	}
	p.SaveMeta(note)
	c.Close(true)
	c = open(t, dir)
	all, err := c.Inventory(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != id || !bytes.Equal(all[0].Meta, note) || !all[0].Live {
		t.Errorf("%+v, %v", all, err)
	}
	c.Close(false)
}
