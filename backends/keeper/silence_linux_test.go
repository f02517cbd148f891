package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

var unresponsive = &messages.Error{Code: messages.KeeperUnresponsive}

// soon is the heart of a client that notices soon; a keeper on a busy machine is not
// silent for three of it.
const soon = 300 * time.Millisecond

// beating opens a client that notices soon.
func beating(t *testing.T, dir string, faults chan error) *keeper.Client {
	t.Helper()
	o := keeper.ClientOptions{Dir: dir, Build: "test", Program: []string{self(t), roleArg}, Env: os.Environ(), Fault: func(err error) {
		select {
		case faults <- err:
		default:
		}
	}}.Beating(soon)
	c, err := keeper.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("%d is nobody to signal", pid)
	}
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
	if s == syscall.SIGSTOP {
		until(t, "the stop of every thread", func() bool { return stopped(pid) })
	}
}

func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if _, state, ok := strings.Cut(string(text), ") "); err == nil && (!ok || state[0] != 'T') {
			return false
		}
	}
	return len(threads) > 0
}

// silent waits until a client has noticed that its keeper says nothing.
func silent(t *testing.T, c *keeper.Client) {
	t.Helper()
	select {
	case <-c.Unresponsive():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody noticed that the keeper was stopped")
	}
	if err := c.Health(); !errors.Is(err, unresponsive) {
		t.Fatalf("its health is %v", err)
	}
}

// A keeper that is stopped is noticed: what is asked is refused with that code, what
// was asked is answered with it, and no second keeper is started. When it goes on,
// so does all else, and each control has had one answer.
func TestKeeperIsStopped(t *testing.T) {
	dir := keeperDir(t)
	faults := make(chan error, 16)
	c := beating(t, dir, faults)
	defer c.Close(false)
	_, pid := c.Keeper()
	e := newEar(t)
	p := c.Start(shell(newUID(), "cat; exit 3", func(s *backends.Spec) { s.Stdio.Stdin = messages.StdinPipe }), e.facts)
	await[messages.ProcessStarted](e, 1)
	signal(t, pid, syscall.SIGSTOP)
	defer signal(t, pid, syscall.SIGCONT)
	p.Do(backends.Input{Data: []byte("one\n")}) // on its way
	asked := make(chan error, 1)
	go func() {
		_, err := c.Inventory(context.Background())
		asked <- err
	}()
	silent(t, c)
	if err := <-asked; !errors.Is(err, unresponsive) {
		t.Errorf("what waited heard %v", err)
	}
	if f := await[messages.ControlRefused](e, 1); f.Err.Code != messages.KeeperUnresponsive {
		t.Errorf("the control heard %+v", f)
	}
	p.Do(backends.CloseInput{})
	if f := await[messages.ControlRefused](e, 2); f.Err.Code != messages.KeeperUnresponsive {
		t.Errorf("the control heard %+v", f)
	}
	late := newEar(t)
	c.Start(shell(newUID(), "true"), late.facts)
	if f := await[messages.ProcessFailed](late, 1); f.Err.Code != messages.KeeperUnresponsive {
		t.Errorf("the start heard %+v", f)
	}
	if log, err := p.Output(messages.Merged); err == nil {
		if _, err := log.ReadAt(make([]byte, 8), 0); !errors.Is(err, unresponsive) {
			t.Errorf("a read heard %v", err)
		}
		log.Close()
	} else {
		t.Error(err)
	}
	// Another daemon finds the same keeper, and starts none beside it.
	o := keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}, Env: os.Environ()}.Beating(soon)
	if _, err := keeper.Open(t.Context(), o); !errors.Is(err, unresponsive) {
		t.Errorf("opened beside it: %v", err)
	}
	if err := <-faults; !errors.Is(err, unresponsive) {
		t.Errorf("the first fault is %v", err)
	}

	signal(t, pid, syscall.SIGCONT)
	until(t, "its recovery", func() bool { return c.Health() == nil })
	p.Do(backends.Input{Data: []byte("two\n")})
	p.Do(backends.CloseInput{})
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 3 {
		t.Errorf("ended with %+v", f)
	}
	await[messages.TreeEnded](e, 1)
	if text := read(t, p, messages.Merged); text != "one\ntwo\n" {
		t.Errorf("it wrote %q", text)
	}
	if n := count[messages.InputWritten](e) + count[messages.ControlDone](e); n != 2 || count[messages.ControlRefused](e) != 2 {
		t.Errorf("heard %+v", e.all())
	}
	if _, now := c.Keeper(); now != pid {
		t.Error("another keeper was started")
	}
}

// A start that a stopped keeper has not taken fails in its time, and is not begun
// afterwards; nothing of it is left in the keeper.
func TestStartToAStoppedKeeper(t *testing.T) {
	dir := keeperDir(t)
	c := beating(t, dir, make(chan error, 16))
	defer c.Close(false)
	_, pid := c.Keeper()
	mark := dir + "/ran"
	signal(t, pid, syscall.SIGSTOP)
	defer signal(t, pid, syscall.SIGCONT)
	e := newEar(t)
	p := c.Start(shell(newUID(), "touch "+mark), e.facts)
	began := time.Now()
	f := await[messages.ProcessFailed](e, 1)
	if took := time.Since(began); f.Err.Code != messages.KeeperUnresponsive || took < time.Second || took > 20*time.Second {
		t.Errorf("after %s: %+v", took, f)
	}
	p.Settle(f.Seq)
	signal(t, pid, syscall.SIGCONT)
	until(t, "its recovery", func() bool { return c.Health() == nil })
	if err := c.Ping(); err != nil {
		t.Fatal(err)
	}
	if all, err := c.Inventory(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("the keeper has %+v, %v", all, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran, and was told to have failed")
	}
	if n := len(e.all()); n != 1 {
		t.Errorf("heard %+v", e.all())
	}
}

// Who stops a keeper by mistake is helped once.
func TestStoppedKeeperIsWokenOnce(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	_, pid := c.Keeper()
	c.Abandon()
	signal(t, pid, syscall.SIGSTOP)
	c = open(t, dir)
	if _, now := c.Keeper(); now != pid {
		t.Error("another keeper was started")
	}
	c.Close(false)
}

// A client that has died while it waited for a keeper sends nobody away.
func TestDeadClientReplacesNobody(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	defer c.Close(false)
	_, pid := c.Keeper()
	for range 10 {
		signal(t, pid, syscall.SIGSTOP)
		keeper.HelloAndGone(t, dir)
		signal(t, pid, syscall.SIGCONT)
		if err := c.Ping(); err != nil {
			t.Fatal(err)
		}
	}
}

// Where a keeper has no descriptor left for what comes with a request, that has an
// answer, and the connection stays.
func TestNoRoomForADescriptor(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	c.Abandon()
	start, control := keeper.StartWithoutRoom(t, dir, newUID())
	if f, ok := start.(messages.ProcessFailed); !ok || f.Err.Code != messages.ResourceExhausted {
		t.Errorf("the start heard %+v", start)
	}
	if f, ok := control.(messages.ControlRefused); !ok || f.Err.Code != messages.ResourceExhausted {
		t.Errorf("the control heard %+v", control)
	}
	open(t, dir).Close(false)
}

// A start whose log another has made meanwhile failed at a time, as any start that
// fails: by its age the record of the job is forgotten.
func TestStartOverALogFailedAtATime(t *testing.T) {
	c := open(t, keeperDir(t))
	defer c.Close(false)
	file := filepath.Join(t.TempDir(), "out.log")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEar(t)
	c.Start(shell(newUID(), "", detached, func(s *backends.Spec) { s.Log.File = file }), e.facts)
	f := await[messages.ProcessFailed](e, 1)
	if f.Err.Code != messages.InvalidParams || f.At.IsZero() {
		t.Errorf("the start heard %+v", f)
	}
}
