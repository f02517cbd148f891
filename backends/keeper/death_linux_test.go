package keeper_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/backends/keeper"
	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

// When keeper and daemon die together a job has the exit that the journal holds,
// or is lost, once nothing of it is left; what was in a file is there (F13).
func TestKeeperAndDaemonDie(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	for i := range 10 {
		c := open(t, dir)
		_, pid := c.Keeper()
		ended, runs := newUID(), messages.UID("")
		e := newEar(t)
		c.Start(shell(ended, "head -c 200000 /dev/zero; exit 5"), e.facts)
		await[messages.TreeEnded](e, 1)
		runs = newUID()
		r := newEar(t)
		c.Start(shell(runs, "head -c 100000 /dev/zero; setsid sleep 600 & echo; sleep 600"), r.facts)
		started := await[messages.ProcessStarted](r, 1)
		if i%2 == 0 {
			p, _ := adopt(t, c, runs)
			grown(t, p)
		}
		c.Abandon()
		kill(t, pid)

		c = open(t, dir)
		if _, now := c.Keeper(); now == pid {
			t.Fatal("the keeper lives")
		}
		p, f := adopt(t, c, ended)
		x := await[messages.ProcessExited](f, 1)
		if x.Status.Code != 5 || x.Sizes[messages.Merged] != 200000 {
			t.Errorf("the one that had ended: %+v", x)
		}
		await[messages.TreeEnded](f, 1)
		if n := len(read(t, p, messages.Merged)); n != 200000 {
			t.Errorf("%d bytes of its log are left", n)
		}
		p.Settle(lastNumber(f))
		p, f = adopt(t, c, runs)
		l := await[messages.ProcessLost](f, 1)
		if l.Err.Code != messages.Internal || l.Err.Reason != "keeper" || len(l.Survivors) > 0 || count[messages.ProcessStarted](f) != 1 {
			t.Errorf("the one that ran: %+v", f.all())
		}
		if startTime(started.PID) != "" {
			t.Error("it is lost, and lives")
		}
		if i%2 == 0 {
			if n := len(read(t, p, messages.Merged)); n < 100000 {
				t.Errorf("%d bytes of its log are left", n)
			}
		}
		p.Settle(lastNumber(f))
		if all, err := c.Inventory(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("settled, and left: %+v, %v", all, err)
		}
		c.Close(true)
	}
}

// grown waits until a job has written its first 100,000 bytes.
func grown(t *testing.T, p backends.Process) {
	t.Helper()
	until(t, "100,000 bytes", func() bool {
		log, err := p.Output(messages.Merged)
		if err != nil {
			return false // its start was not heard again yet
		}
		defer log.Close()
		return log.State().Size >= 100_000
	})
}

// A daemon whose keeper dies hears what became of its jobs, starts another keeper,
// and has read what it had opened.
func TestKeeperDiesUnderADaemon(t *testing.T) {
	dir := keeperDir(t)
	told := make(chan error, 16)
	c := openWith(t, dir, func(err error) { told <- err })
	_, pid := c.Keeper()
	e, r := newEar(t), newEar(t)
	done := c.Start(shell(newUID(), "echo done; exit 4"), e.facts)
	await[messages.TreeEnded](e, 1)
	id := newUID()
	runs := c.Start(shell(id, "echo ready; sleep 600"), r.facts)
	runs.NotifyGrowth(messages.Merged, 5)
	await[messages.OutputGrew](r, 1)
	log, err := runs.Output(messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text := make([]byte, 6)
	if _, err := log.ReadAt(text, 0); err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	l := await[messages.ProcessLost](r, 1)
	if l.Err.Reason != "keeper" {
		t.Errorf("%+v", l)
	}
	if n, err := log.ReadAt(text, 0); string(text[:n]) != "ready\n" || err != nil {
		t.Errorf("what was open reads as %q, %v", text[:n], err)
	}
	if s := log.State(); s.Size != 6 {
		t.Errorf("its size is %d", s.Size)
	}
	if _, now := c.Keeper(); now == pid {
		t.Error("the keeper is the same")
	}
	if err := <-told; !strings.Contains(err.Error(), fmt.Sprintf("keeper %d died", pid)) {
		t.Errorf("its death was told as %v", err)
	}
	n := newEar(t)
	c.Start(shell(newUID(), "exit 9"), n.facts)
	if f := await[messages.ProcessExited](n, 1); f.Status.Code != 9 {
		t.Errorf("a new job ended with %+v", f)
	}
	runs.Settle(lastNumber(r))
	done.Settle(lastNumber(e))
	until(t, "the end of what was settled", func() bool {
		all, err := c.Inventory(t.Context())
		return err == nil && len(all) == 1
	})
	if count[messages.ProcessExited](e) != 1 || count[messages.TreeEnded](e) != 1 {
		t.Errorf("it heard again what it had heard: %+v", e.all())
	}
	c.Close(false)
}

// A read that waits for an answer when the keeper dies gets it from the next one.
func TestFaultKeeperDiesUnderARead(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := openWith(t, dir, func(error) {})
	defer c.Close(false)
	e := newEar(t)
	p := c.Start(shell(newUID(), "head -c 200000 /dev/zero; exit 5"), e.facts)
	await[messages.TreeEnded](e, 1)
	log, err := p.Output(messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, pid := c.Keeper()
	signal(t, pid, unix.SIGSTOP)
	type page struct {
		n   int
		err error
	}
	got := make(chan page, 1)
	go func() {
		n, err := log.ReadAt(make([]byte, 200_000), 0)
		got <- page{n, err}
	}()
	until(t, "the request of the read", func() bool { return c.Calls() == 1 })
	kill(t, pid)
	if p := <-got; p.n != 200_000 || p.err != nil || spill.ErrOf(log) != nil {
		t.Errorf("%d bytes, %v, %v", p.n, p.err, spill.ErrOf(log))
	}
}

// A journal of another run of the machine tells of nothing that lives (F16).
func TestAnotherBoot(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	e := newEar(t)
	id := newUID()
	c.Start(shell(id, "sleep 600"), e.facts)
	started := await[messages.ProcessStarted](e, 1)
	c.Abandon()
	kill(t, pid)
	keeper.Reboot(t, dir)
	c = open(t, dir)
	_, e = adopt(t, c, id)
	if l := await[messages.ProcessLost](e, 1); l.Err.Reason != "reboot" {
		t.Errorf("%+v", l)
	}
	_ = started
	c.Close(false)
}

// A keeper that dies between the fork of a job and the record of that has recorded that it
// starts the job: a start that is repeated does not run it again.
func TestFaultKeeperDiesWhileItStarts(t *testing.T) {
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	file := filepath.Join(t.TempDir(), "runs")
	id := newUID()
	e := newEar(t)
	spec := shell(id, "echo run >>"+file+"; echo ready; sleep 600")
	c.Start(spec, e.facts).NotifyGrowth(messages.Merged, 5)
	await[messages.OutputGrew](e, 1)
	c.Abandon()
	kill(t, pid)
	keeper.Starting(t, dir)
	c = open(t, dir)
	e = newEar(t)
	again := c.Start(spec, e.facts)
	if l := await[messages.ProcessLost](e, 1); l.Err.Reason != "keeper" || !strings.Contains(l.Err.Message, "whether the job has run is unknown") {
		t.Errorf("%+v", l)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "run\n" {
		t.Errorf("%q, %v", text, err)
	}
	again.Settle(lastNumber(e))
	c.Close(false)
}

// With few descriptors left what is asked fails with a code, and works again when
// there are some (F33).
func TestFewDescriptors(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	_, pid := c.Keeper()
	restore := limitFiles(t, pid, uint64(fds(pid)+20))
	var jobs []backends.Process
	var ears []*ear
	for range 60 {
		e := newEar(t)
		jobs = append(jobs, c.Start(shell(newUID(), "sleep 600", separately), e.facts))
		ears = append(ears, e)
	}
	failed := 0
	for _, e := range ears {
		until(t, "an answer", func() bool { return count[messages.ProcessStarted](e)+count[messages.ProcessFailed](e) > 0 })
		for _, f := range e.all() {
			if x, ok := f.(messages.ProcessFailed); ok {
				failed++
				if x.Err.Code != messages.ResourceExhausted || x.Err.Hint == "" {
					t.Errorf("%+v", x)
				}
			}
		}
	}
	if failed == 0 {
		t.Error("none of 60 jobs failed")
	}
	restore()
	e := newEar(t)
	c.Start(shell(newUID(), "exit 3"), e.facts)
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 3 {
		t.Errorf("%+v", f)
	}
	_ = jobs
	c.Close(false)
}

// Another user is refused, and so is a place that is not ours alone.
func TestStrangers(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	asNobody(t, dir)
	info, err := os.Lstat(filepath.Join(dir, "keeper.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	e := newEar(t)
	c.Start(shell(newUID(), "exit 3"), e.facts)
	await[messages.ProcessExited](e, 1)
	c.Close(false)

	try := func(what, path string) {
		t.Helper()
		_, err := keeper.Open(t.Context(), keeper.ClientOptions{
			Dir: path, Build: "test", Program: []string{self(t), roleArg}, Env: []string{"GORACE=atexit_sleep_ms=0"},
		})
		var refused *messages.Error
		if !errors.As(err, &refused) || refused.Code != messages.Refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	try("a symbolic link", link)
	wide := keeperDir(t)
	if err := os.Chmod(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	try("a directory that others can enter", wide)
	for _, name := range []string{"keeper.sock", "keeper.lock", "keeper.journal"} {
		planted := keeperDir(t)
		if err := os.Symlink("/etc/passwd", filepath.Join(planted, name)); err != nil {
			t.Fatal(err)
		}
		_, err := keeper.Open(t.Context(), keeper.ClientOptions{
			Dir: planted, Build: "test", Program: []string{self(t), roleArg}, Env: []string{"GORACE=atexit_sleep_ms=0"},
		})
		if err == nil {
			t.Errorf("a planted %s was taken", name)
		}
	}
}

// A body above a frame travels in memory, both ways.
func TestLargeBodies(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	e := newEar(t)
	text := strings.Repeat("x", 100_000)
	p := c.Start(shell(newUID(), `printf %s "$BIG" | md5sum; cat`, func(s *backends.Spec) {
		s.Env = append(s.Env, "BIG="+text)
		s.Stdio.Stdin = messages.StdinPipe
	}), e.facts)
	p.Do(backends.Input{Data: []byte(strings.Repeat("y", 200_000))})
	p.Do(backends.CloseInput{})
	if f := await[messages.ProcessExited](e, 1); f.Status.Code != 0 || f.Sizes[messages.Merged] < 200_000 {
		t.Errorf("%+v", f)
	}
	log, err := p.Output(messages.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	got, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
	if err != nil || strings.Count(string(got), "y") != 200_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	c.Close(false)
}

// How long a job takes by way of a keeper, and in this process.
func BenchmarkTrue(b *testing.B) {
	b.Run("keeper", func(b *testing.B) {
		dir := keeperDir(b)
		c := open(b, dir)
		defer c.Close(false)
		benchTrue(b, c)
	})
	b.Run("here", func(b *testing.B) {
		store, err := spill.OpenStore(spill.Options{Root: filepath.Join(keeperDir(b), "r"), Node: "BENCH"})
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		e, err := engine.New(engine.Options{Node: "BENCH", Store: store, Own: true})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close(false)
		benchTrue(b, e)
	})
}

// How long a question and its answer take.
func BenchmarkPing(b *testing.B) {
	c := open(b, keeperDir(b))
	defer c.Close(false)
	best := time.Hour
	for b.Loop() {
		began := time.Now()
		if err := c.Ping(); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(began))
	}
	b.ReportMetric(float64(best.Microseconds()), "best-us")
}

func benchTrue(b *testing.B, e backends.Engine) {
	best := time.Hour
	for b.Loop() {
		began := time.Now()
		done := make(chan uint64, 1)
		p := e.Start(backends.Spec{ID: newUID(), Argv: []string{"/bin/true"}, Env: os.Environ(), Umask: -1}, func(f messages.ProcessFact) {
			if x, ok := f.(messages.ProcessExited); ok {
				done <- max(x.Seq, x.Last)
			}
		})
		seq := <-done
		best = min(best, time.Since(began))
		p.Settle(seq)
	}
	b.ReportMetric(float64(best.Microseconds()), "best-us")
}

// limitFiles leaves another process no more than n descriptors, until it is
// restored.
func limitFiles(t *testing.T, pid int, n uint64) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// asNobody connects as another user, who was let in as far as the socket, and
// wants to be turned away.
func asNobody(t *testing.T, dir string) {
	t.Helper()
	need.Root(t)
	socket := filepath.Join(dir, "keeper.sock")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(os.Chmod(dir, 0o711), os.Chmod(socket, 0o666), os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o711)))
	defer func() { must(errors.Join(os.Chmod(dir, 0o700), os.Chmod(socket, 0o600))) }()
	answer := make(chan string, 1)
	need.Thread(func() {
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); e != 0 {
			answer <- e.Error()
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(fd)
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
		}
		if err != nil {
			answer <- err.Error()
			return
		}
		buf := make([]byte, 4096)
		n, err := unix.Read(fd, buf)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- string(buf[:n])
	})
	if got := <-answer; !strings.HasPrefix(got, "E{") || !strings.Contains(got, `"reason":"uid"`) {
		t.Errorf("another user heard %q", got)
	}
}
