package keeper_test

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// A connection that breaks loses nothing that either side has said.
func TestConnectionBreaks(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	_, pid := c.Keeper()
	for i := range 20 {
		e := newEar(t)
		p := c.Start(shell(newUID(), fmt.Sprintf("cat; exit %d", i), func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
		if i%3 == 0 {
			c.Break()
		}
		p.Do(backends.Input{Data: []byte("one\n")})
		if i%3 == 1 {
			c.Break()
		}
		p.Do(backends.Input{Data: []byte("two\n")})
		p.Do(backends.CloseInput{})
		if i%3 == 2 {
			c.Break()
		}
		if f := await[messages.ProcessExited](e, 1); f.Status.Code != i {
			t.Errorf("%d ended with %+v", i, f)
		}
		await[messages.TreeEnded](e, 1)
		if text := read(t, p, messages.Merged); text != "one\ntwo\n" {
			t.Errorf("%d wrote %q", i, text)
		}
		if n := count[messages.InputWritten](e); n != 2 || count[messages.ControlDone](e) != 1 {
			t.Errorf("%d heard %+v", i, e.all())
		}
		p.Settle(lastNumber(e))
	}
	if _, now := c.Keeper(); now != pid {
		t.Error("another keeper was started")
	}
}

// After a resync a job has one start, one end, and an answer to all it was asked.
func TestResync(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	for i := range 20 {
		e := newEar(t)
		p := c.Start(shell(newUID(), "cat; exit 3", func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
		if i%2 == 0 {
			c.Resync()
		}
		p.Do(backends.Input{Data: []byte("one\n")})
		c.Resync()
		p.Do(backends.CloseInput{})
		if f := await[messages.ProcessExited](e, 1); f.Status.Code != 3 {
			t.Errorf("ended with %+v", f)
		}
		await[messages.OutputClosed](e, 1)
		await[messages.TreeEnded](e, 1)
		if count[messages.ProcessStarted](e) != 1 || count[messages.ProcessExited](e) != 1 ||
			count[messages.InputWritten](e)+count[messages.ControlDone](e)+count[messages.ControlRefused](e) != 2 {
			t.Errorf("heard %+v", e.all())
		}
		p.Settle(lastNumber(e))
	}
	until(t, "the end of all", func() bool {
		all, err := c.Inventory(t.Context())
		return err == nil && len(all) == 0
	})
}

// What is asked of a keeper that does not take it is bounded. When it does, the
// connection goes on, and each control has had one answer.
func TestTooMuchIsAsked(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	_, pid := c.Keeper()
	e := newEar(t)
	p := c.Start(shell(newUID(), "cat > /dev/null; exit 3", func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
	await[messages.ProcessStarted](e, 1)
	const asked = 100
	signal(t, pid, syscall.SIGSTOP)
	c.Bound(10)
	for range asked - 1 {
		p.Do(backends.Input{Data: make([]byte, 32<<10)}) // the socket takes some ten of them
	}
	c.Bound(1000)
	signal(t, pid, syscall.SIGCONT)
	p.Do(backends.CloseInput{})
	until(t, "a refusal", func() bool { return count[messages.ControlRefused](e) > 0 })
	p.Stop(messages.Cause{By: messages.ByClient}, 0)
	await[messages.ProcessExited](e, 1)
	await[messages.TreeEnded](e, 1)
	until(t, "an answer to each", func() bool {
		return count[messages.InputWritten](e)+count[messages.ControlDone](e)+count[messages.ControlRefused](e) == asked
	})
	if _, now := c.Keeper(); now != pid {
		t.Error("another keeper was started")
	}
}

// A keeper that is told to end ends its jobs by the ladder, and records how.
func TestKeeperIsTerminated(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	id := newUID()
	e := newEar(t)
	p := c.Start(shell(id, "trap 'exit 7' TERM; echo ready; sleep 600 & wait"), e.facts)
	p.NotifyGrowth(messages.Merged, 0)
	await[messages.OutputGrew](e, 1)
	c.Abandon()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the keeper", func() bool { return startTime(pid) == "" })
	c = open(t, dir)
	_, e = adopt(t, c, id)
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 7 || f.Cause.By != messages.ByShutdown {
		t.Errorf("ended with %+v", f)
	}
	c.Close(false)
}

// A client that is replaced hears so, and takes nothing back.
func TestReplaced(t *testing.T) {
	dir := keeperDir(t)
	first := open(t, dir)
	id := newUID()
	e := newEar(t)
	first.Start(shell(id, "sleep 600"), e.facts)
	await[messages.ProcessStarted](e, 1)
	second := open(t, dir)
	p, s := adopt(t, second, id)
	await[messages.ProcessStarted](s, 1)
	p.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0)
	await[messages.TreeEnded](s, 1)
	if n := len(e.all()); n != 1 {
		t.Errorf("the first heard %+v", e.all())
	}
	started := time.Now()
	first.Close(false)
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("its close took %s", took)
	}
	if _, err := second.Inventory(t.Context()); err != nil {
		t.Errorf("the first has ended what is the second's: %v", err)
	}
	second.Close(false)
}

// A job whose output must be safe tells its exit when that and the journal are on
// disk; what it wrote can be read behind its last word, until it is removed.
func TestLogsBehindTheEnd(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	for _, d := range []spill.Durability{spill.Memory, spill.FsyncOnExit} {
		for _, size := range []int{0, 100, 5000, 100_000} {
			id := newUID()
			e := newEar(t)
			p := c.Start(shell(id, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; exit 3", size), func(s *backends.Spec) { s.Log.Durability = d }), e.facts)
			if f := await[messages.ProcessExited](e, 1); f.Status.Code != 3 || f.Sizes[messages.Merged] != int64(size) {
				t.Errorf("%s, %d: %+v", d, size, f)
			}
			await[messages.TreeEnded](e, 1)
			p.Settle(lastNumber(e))
			log, err := c.Open(id, messages.Merged)
			if err != nil {
				t.Fatal(err)
			}
			text := make([]byte, size+1)
			n, err := log.ReadAt(text, 0)
			if n != size || err != io.EOF || strings.Trim(string(text[:n]), "x") != "" {
				t.Errorf("%s: %d bytes of %d, %v", d, n, size, err)
			}
			filed := size > spill.InlineLimit || d != spill.Memory && size > 0
			if s := log.State(); !s.Closed || s.Size != int64(size) || size != 5000 && (s.File != "") != filed { // 5000 bytes are about to be
				t.Errorf("%s, %d: %+v", d, size, s)
			}
			c.Remove(id)
			if err := c.Ping(); err != nil {
				t.Fatal(err)
			}
			gone, err := c.Open(id, messages.Merged)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gone.ReadAt(text, 0); err == nil || err == io.EOF {
				t.Errorf("%s, %d: what was removed is read with %v", d, size, err)
			}
			gone.Close()
			log.Close()
		}
	}
}
