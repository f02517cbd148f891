package keeper_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func onTerminal(s *backends.Spec) { s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80} }

// says waits until the output of a job has text in it.
func says(t *testing.T, p backends.Process, e *ear, text string) {
	t.Helper()
	for n := 1; ; n++ {
		got := read(t, p, messages.Merged)
		if strings.Contains(got, text) {
			return
		}
		p.NotifyGrowth(messages.Merged, int64(len(got)))
		await[messages.OutputGrew](e, n)
	}
}

// A daemon that is killed again and again costs no byte of what a job writes to its
// terminal, and no status (F01).
func TestFaultDaemonDiesOverATerminal(t *testing.T) {
	const n = 200 << 20 / 64
	dir := keeperDir(t)
	first := open(t, dir)
	_, pid := first.Keeper()
	endAll(t, dir)
	id := newUID()
	e := newEar(t)
	before := fds(pid)
	first.Start(shell(id, "stty -opost; read -t 600 < <(sleep 0.2); "+fmt.Sprintf(lines, n)+"; exit 7", onTerminal), e.facts)
	await[messages.ProcessStarted](e, 1)
	first.Close(true)
	for range 20 {
		d := daemon(t, "watching", dir, "watch", string(id))
		pause(time.Duration(rand.IntN(40)) * time.Millisecond)
		dies(d)
	}
	last := open(t, dir)
	p, e := adopt(t, last, id)
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 7 || f.Cause.By != messages.ByNone || len(f.Flags) > 0 {
		t.Errorf("it ended with %+v", f)
	}
	await[messages.OutputClosed](e, 1)
	if sum(t, p, messages.Merged) != linesSum(n) {
		t.Error("other bytes are in the log than were written")
	}
	await[messages.TreeEnded](e, 1)
	p.Settle(lastNumber(e))
	until(t, "as few descriptors as before, but for those that are kept for the next log", func() bool { return fds(pid) <= before+14 })
	if _, now := last.Keeper(); now != pid {
		t.Error("the keeper is another one")
	}
	last.Close(false)
}

// The next daemon finds a terminal as the last one left it: its size, its modes, and
// who waits for something to be typed.
func TestTerminalOutlivesTheDaemon(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	endAll(t, dir)
	id := newUID()
	e := newEar(t)
	p := c.Start(shell(id, "stty -echo; echo up; read x; stty size; read -s y; stty -a; echo $x $y; exit 4", onTerminal), e.facts)
	await[messages.ProcessStarted](e, 1)
	says(t, p, e, "up")
	p.Do(backends.Resize{Size: messages.Terminal{Rows: 33, Cols: 44}})
	await[messages.ControlDone](e, 1)
	dies(daemon(t, "watching", dir, "watch", string(id)))
	c = open(t, dir)
	p, e = adopt(t, c, id)
	p.Do(backends.CheckInput{For: time.Minute})
	if f := await[messages.InputWaiting](e, 1); !f.Waiting || !f.Secret {
		t.Errorf("it has no echo: %+v", f)
	}
	p.Do(backends.ResetTerminal{})
	p.Do(backends.Input{Data: []byte("one\n")})
	p.Do(backends.Input{Data: []byte("two\n")})
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 4 {
		t.Errorf("%+v", f)
	}
	got := read(t, p, messages.Merged)
	for _, want := range []string{"33 44\r\n", "one two\r\n", " echo "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	c.Close(false)
}

// No byte of what a terminal says passes through the keeper's memory.
func TestTerminalIsNotRead(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	_, pid := c.Keeper()
	before := readBytes(t, pid)
	e := newEar(t)
	p := c.Start(shell(newUID(), "stty -opost; head -c 31457280 /dev/zero; sleep 600", onTerminal), e.facts)
	p.NotifyGrowth(messages.Merged, 30<<20-1)
	await[messages.OutputGrew](e, 1)
	if n := readBytes(t, pid) - before; n > 1<<20 {
		t.Errorf("the keeper read %d bytes", n)
	}
	c.Close(false)
}

// A line that is too long is refused by way of the keeper, too, and a size that cannot be.
func TestBadInputOfATerminalInTheKeeper(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	e := newEar(t)
	p := c.Start(shell(newUID(), "stty -echo; echo up; cat; exit 4", onTerminal), e.facts)
	await[messages.ProcessStarted](e, 1)
	says(t, p, e, "up")
	p.Do(backends.Input{Data: []byte(strings.Repeat("x", 5000) + "\n")})
	if f := await[messages.ControlRefused](e, 1); f.Err.Code != messages.LineTooLong || f.Err.Hint == "" {
		t.Errorf("%+v", f)
	}
	p.Do(backends.Input{Data: []byte(strings.Repeat("x", 5000) + "\n"), Raw: true})
	if f := await[messages.InputWritten](e, 1); f.Through != 5001 {
		t.Errorf("%+v", f)
	}
	p.Do(backends.CloseInput{})
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 4 || f.Sizes[0] != 4+4097 {
		t.Errorf("%+v", f)
	}
	c.Start(shell(newUID(), "true", func(s *backends.Spec) { s.Stdio.Terminal.Rows = -1 }), e.facts)
	if f := await[messages.ProcessFailed](e, 1); f.Err.Reason != "invalid_size" {
		t.Errorf("%+v", f)
	}
	c.Close(false)
}
