package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// grew waits until these growths, and no more, have been told.
func grew(e *ear, want ...int64) {
	e.t.Helper()
	e.hears(fmt.Sprint("growth to ", want), func([]messages.ProcessFact) bool { return slices.Equal(growths(e), want) })
}

func growths(e *ear) []int64 {
	var sizes []int64
	for _, f := range e.all() {
		if g, ok := f.(messages.OutputGrew); ok {
			sizes = append(sizes, g.Size)
		}
	}
	return sizes
}

// One credit is one fact: at once if the log is larger already, else when it
// grows, then silence.
func TestWatchIsOneCredit(t *testing.T) {
	r := newRig(t)
	s := r.spec("while read n; do head -c $n /dev/zero; done")
	s.Stdio.Stdin = messages.StdinPipe
	e := r.start(s)
	await[messages.ProcessStarted](e)
	write := func(text string) { e.proc.Do(backends.Input{Data: []byte(text)}) }
	e.proc.NotifyGrowth(messages.Merged, 0)
	write("10\n")
	grew(e, 10)
	write("10\n")
	e.proc.NotifyGrowth(messages.Merged, 15) // waits for 20, or finds it
	grew(e, 10, 20)
	e.proc.NotifyGrowth(messages.Merged, 0) // at once
	grew(e, 10, 20, 20)
	e.proc.NotifyGrowth(messages.Merged, 20)
	e.proc.NotifyGrowth(messages.Merged, 20)
	write("5\n")
	grew(e, 10, 20, 20, 25)
	e.proc.Do(backends.CloseInput{})
	e.proc.NotifyGrowth(messages.Merged, 25)
	x := e.over()
	if x.Sizes[0] != 25 || !slices.Equal(growths(e), []int64{10, 20, 20, 25}) {
		t.Errorf("%+v, %v", x, growths(e))
	}
	e.proc.NotifyGrowth(messages.Merged, 3) // of a job that is over
	grew(e, 10, 20, 20, 25, 25)
}

// A flood is captured byte by byte, through memory, file and large pipe.
func TestFaultFloodIsCaptured(t *testing.T) {
	r := newRig(t)
	const n = 3_000_000
	e, x := r.run(fmt.Sprintf("seq 1 %d", n))
	var want bytes.Buffer
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&want, i)
	}
	got := r.output(e, messages.Merged)
	if got != want.String() {
		t.Errorf("%d bytes, want %d", len(got), want.Len())
	}
	if x.Sizes[0] != int64(want.Len()) {
		t.Errorf("%+v", x)
	}
}

// unread is how much waits in the pipe of a stream.
func unread(t testing.TB, s *stream) (n int) {
	t.Helper()
	if !s.end.use(func(fd int) { n, _ = kernel{}.BytesReadable(fd) }) {
		t.Fatal("the pipe is closed")
	}
	return n
}

// A paused job is paced by its own full pipe; nothing is lost.
func TestPauseAndResume(t *testing.T) {
	r := newRig(t)
	s := r.spec("read x; seq 1 200000; exit 2")
	s.Stdio.Stdin = messages.StdinPipe
	e := r.start(s)
	e.proc.Do(backends.Pause{})
	e.proc.Do(backends.Input{Data: []byte("go\n")})
	await[messages.InputWritten](e)
	until(t, func() bool { return unread(t, r.e.find(e.id).streams[0]) > smallPipe-4096 })
	if size := r.e.find(e.id).credits.sizes()[0]; size != 0 {
		t.Errorf("%d bytes were taken", size)
	}
	e.proc.Do(backends.Resume{})
	x := e.over()
	if x.Sizes[0] != 1_288_895 || x.Status.Code != 2 {
		t.Errorf("%+v", x)
	}
	if lines := strings.Count(r.output(e, messages.Merged), "\n"); lines != 200000 {
		t.Errorf("%d lines", lines)
	}
}

// What the main process left in a pipe is taken at its exit even if capture is
// paused: the result does not wait for a reader.
func TestPauseDoesNotHoldTheResult(t *testing.T) {
	r := newRig(t)
	s := r.spec("read x; echo some output")
	s.Stdio.Stdin = messages.StdinPipe
	e := r.start(s)
	e.proc.Do(backends.Pause{})
	e.proc.Do(backends.Input{Data: []byte("go\n")})
	if x := e.over(); x.Sizes[0] != 12 {
		t.Errorf("%+v", x)
	}
}

func (r *rig) quota(text string, p spill.Policy, n int64) *ear {
	s := r.spec(text)
	s.Log = spill.Plan{Quota: n, Policy: p}
	return r.start(s)
}

func TestQuotaKills(t *testing.T) {
	r := newRig(t)
	e := r.quota("yes", spill.Kill, 100_000)
	if x := e.over(); x.Cause.By != messages.ByQuota || x.Sizes[0] < 100_000 {
		t.Errorf("%+v", x)
	}
}

func TestQuotaPauses(t *testing.T) {
	r := newRig(t)
	e := r.quota("yes", spill.Pause, 100_000)
	e.grown(messages.Merged, 99_999)
	if b := await[messages.LogBlocked](e); !b.Blocked {
		t.Errorf("it waits for room, and was told %+v", b)
	}
	e.proc.Stop(client(), 0)
	if x := e.over(); x.Sizes[0] != 100_000 || x.Cause.By != messages.ByClient {
		t.Errorf("%+v", x)
	}
	// A main process that exits is not held by it.
	g := newGate(t)
	e = r.quota("head -c 150000 /dev/zero & read x < "+g.path+"; exit 4", spill.Pause, 100_000)
	e.grown(messages.Merged, 99_999)
	g.open()
	if x := await[messages.ProcessExited](e); x.Status.Code != 4 {
		t.Errorf("%+v", x)
	}
	e.proc.Stop(client(), 0)
	e.over()
}

func TestQuotaKeepsTheHead(t *testing.T) {
	r := newRig(t)
	e := r.quota("seq 1 100000", spill.KeepHead, 1000)
	if x := e.over(); x.Sizes[0] != 588_895 || x.Cause != (messages.Cause{}) {
		t.Errorf("%+v", x)
	}
}

// newFullRig is an engine whose store is full.
func newFullRig(t *testing.T) (r *rig, b *blockable) {
	r = newRig(t, func(o *Options) {
		b = newBlockable(o.Store)
		b.full.Store(true)
		o.Store = b
	})
	return r, b
}

// tapped is a store of whose logs every move is made by way of splice.
type tapped struct {
	spill.Store
	splice func(w spill.Writer, from int, most int64) (int64, error)
}

type tappedWriter struct {
	spill.Writer
	by *tapped
}

func (t *tapped) Create(id string, stream uint8, p spill.Plan) (spill.Writer, error) {
	w, err := t.Store.Create(id, stream, p)
	return tappedWriter{w, t}, err
}

func (w tappedWriter) Splice(from int, most int64) (int64, error) {
	return w.by.splice(w.Writer, from, most)
}

// blockable is a store whose logs take nothing while it is full.
type blockable struct {
	tapped
	full  atomic.Bool
	tried atomic.Int64
}

func newBlockable(on spill.Store) *blockable {
	b := &blockable{}
	b.tapped = tapped{on, func(w spill.Writer, from int, most int64) (int64, error) {
		if b.full.Load() {
			b.tried.Add(1)
			return 0, &spill.Blocked{Err: unix.ENOSPC}
		}
		return w.Splice(from, most)
	}}
	return b
}

// A full store holds a job back and loses nothing (F31): it is told once, and
// once that it is over.
func TestFaultFullStoreHoldsTheJob(t *testing.T) {
	r, b := newFullRig(t)
	e := r.start(r.spec("seq 1 100000; exit 3"))
	blocked := awaitThat(e, func(l messages.LogBlocked) bool { return l.Blocked })
	if !strings.Contains(blocked.Message, "no space") {
		t.Errorf("%+v", blocked)
	}
	until(t, func() bool { return b.tried.Load() > 2 })
	next := r.adopt(e.id)
	awaitThat(next, func(l messages.LogBlocked) bool { return l.Blocked })
	b.full.Store(false)
	awaitThat(next, func(l messages.LogBlocked) bool { return !l.Blocked })
	x := next.over()
	if x.Sizes[0] != 588_895 || x.Status.Code != 3 || !slices.Contains(x.Flags, messages.FlagLogBlocked) {
		t.Errorf("%+v", x)
	}
	if got := strings.Count(words(e)+words(next), "LogBlocked"); got != 3 {
		t.Errorf("told %d times: %s; %s", got, words(e), words(next))
	}
}

// The result of a job that has ended waits for a full store, for a while.
func TestFaultFullStoreHoldsTheResult(t *testing.T) {
	r, b := newFullRig(t)
	e := r.start(r.spec("echo hi"))
	await[messages.MainExited](e)
	until(t, func() bool { return b.tried.Load() > 3 })
	if has[messages.ProcessExited](e) {
		t.Error("the result came without the output")
	}
	b.full.Store(false)
	if x := e.over(); x.Sizes[0] != 3 {
		t.Errorf("%+v", x)
	}
}

// A full store does not hold back a stop: neither one that ends the job nor one
// that comes while its result waits, whichever of its streams are full.
func TestFaultFullStoreHoldsNoStop(t *testing.T) {
	for name, text := range map[string]string{"running": "yes & yes >&2", "drained": "echo out; echo err >&2"} {
		t.Run(name, func(t *testing.T) {
			r, b := newFullRig(t)
			s := r.spec(text)
			s.Stdio.Streams = messages.SeparateStreams
			e := r.start(s)
			if name == "running" {
				awaitThat(e, func(l messages.LogBlocked) bool { return l.Blocked })
			} else {
				await[messages.MainExited](e)
			}
			asked := time.Now()
			e.proc.Stop(client(), 0)
			await[messages.ProcessExited](e)
			await[messages.TreeEnded](e)
			if took := time.Since(asked); took > drainBound/2 {
				t.Errorf("it took %v", took)
			}
			b.full.Store(false)
			e.over()
		})
	}
}

// The engine's goroutines survive a panic in the handling of one job's output,
// whether it is quiet or has a goroutine of its own. The job keeps its
// descriptors; its result still comes, with every byte (F12).
func TestFaultOfOneJobIsItsOwn(t *testing.T) {
	for name, d := range map[string]spill.Durability{"quiet": spill.Memory, "pumped": spill.FsyncOnExit} {
		t.Run(name, func(t *testing.T) {
			faults := make(chan error, 10)
			var fire atomic.Bool
			r := newRig(t, func(o *Options) {
				o.Fault = func(_ messages.UID, err error) { faults <- err }
				o.Failpoint = func(name string) error {
					if name == pointPump && fire.Swap(false) {
						panic("pump")
					}
					return nil
				}
			})
			bystander := r.asking("echo up; read x; echo down")
			bystander.grown(messages.Merged, 0)
			s := r.spec("echo lo; read x; echo hi; exit 1")
			s.Stdio.Stdin, s.Log.Durability = messages.StdinPipe, d
			fire.Store(true)
			e := r.start(s)
			if within(t, faults) == nil {
				t.Error("no fault")
			}
			other, x := r.run("echo other")
			if x.Sizes[0] != 6 || len(x.Flags) > 0 {
				t.Errorf("%+v", x)
			}
			other.proc.Release()
			bystander.nod()
			if x := bystander.over(); x.Sizes[0] != 8 || len(x.Flags) > 0 {
				t.Errorf("%+v", x)
			}
			e.nod()
			x = e.over()
			if x.Status.Code != 1 || r.output(e, messages.Merged) != "lo\nhi\n" || !slices.Contains(x.Flags, messages.FlagKeeperFault) {
				t.Errorf("%+v", x)
			}
		})
	}
}

// broken has a store whose logs panic at every move.
func broken(o *Options) {
	o.Store = &tapped{o.Store, func(spill.Writer, int, int64) (int64, error) { panic("splice") }}
}

// A log that fails for good costs a job its output, and not its end (F12).
func TestFaultForGoodEndsTheJob(t *testing.T) {
	for name, d := range map[string]spill.Durability{"quiet": spill.Memory, "pumped": spill.FsyncOnExit} {
		for _, text := range []string{"echo hi; exit 3", "exit 3", "sleep 0.2 & echo hi; exit 3"} {
			t.Run(name+": "+text, func(t *testing.T) {
				var faults atomic.Int32
				r := newRig(t, func(o *Options) {
					o.Fault = func(messages.UID, error) { faults.Add(1) }
					broken(o)
				})
				s := r.spec(text)
				s.Log.Durability, s.Stdio.Streams = d, messages.SeparateStreams
				e := r.start(s)
				if x := e.over(); x.Status.Code != 3 || !slices.Contains(x.Flags, messages.FlagKeeperFault) {
					t.Errorf("%+v", x)
				}
				if faults.Load() == 0 {
					t.Error("nobody was told of a fault")
				}
			})
		}
	}
}

func TestBadInputUnknownStream(t *testing.T) {
	r := newRig(t)
	e, _ := r.run("echo hi")
	_, err := e.proc.Output(messages.Stderr)
	if !errors.Is(err, &messages.Error{Code: messages.OutputUnavailable}) {
		t.Errorf("%v", err)
	}
	log := r.log(e, messages.Merged)
	defer log.Close()
	if st := log.State(); !st.Closed || st.Size != 3 {
		t.Errorf("%+v", st)
	}
	if _, err := log.ReadAt(make([]byte, 1), 3); err != io.EOF {
		t.Errorf("%v", err)
	}
}

// A log that must survive a crash of the machine is a file, and is synced
// before the exit is told.
func TestDurableOutput(t *testing.T) {
	r := newRig(t)
	for _, d := range []spill.Durability{spill.FsyncOnExit, spill.OSCrash} {
		s := r.spec("echo kept")
		s.Log.Durability = d
		e := r.start(s)
		if x := e.over(); x.Sizes[0] != 5 {
			t.Errorf("%+v", x)
		}
		log := r.log(e, messages.Merged)
		if log.State().File == "" {
			t.Errorf("%s: no file", d)
		}
		log.Close()
	}
}
