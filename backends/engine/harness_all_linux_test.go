package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/hostile"
	"troupe/messages"
	"troupe/spill"
)

// The tests run in the mode that the variable names, so that one set of them
// holds for all: a library's host (the default) or a process of the engine's
// own, with cgroups or without, as root or not. TestModes starts the others.
const modeVar = "TROUPE_ENGINE_MODE"

type mode struct {
	own, nocgroup bool
	apart         bool // every fork has a table of descriptors of its own
}

func modeNow() mode {
	m := os.Getenv(modeVar)
	return mode{own: strings.Contains(m, "own"), nocgroup: strings.Contains(m, "nocgroup"), apart: strings.Contains(m, "apart")}
}

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	if dir := os.Getenv(serveVar); dir != "" {
		serving(dir)
		return
	}
	if parent := os.Getenv(tracedVar); parent != "" {
		beTraced(parent)
	}
	os.Exit(m.Run())
}

// patience bounds every wait for an event: ten times what a slow machine needs.
const patience = time.Minute

// rig is an engine under test.
type rig struct {
	t     testing.TB
	e     *Local
	store *spill.Disk
	next  atomic.Int64
}

// newRig makes an engine in the mode of the run. At the end of the test it is
// closed, and nothing of it may be left.
func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	warmUp(t)
	before := openFiles(t)
	o := options(t)
	r.store = o.Store.(*spill.Disk)
	for _, c := range change {
		c(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.e = e
	t.Cleanup(func() {
		left := e.Close(false)
		if len(left) > 0 {
			t.Errorf("survivors of the engine: %v", left)
		}
		if err := r.store.Close(); err != nil {
			t.Errorf("the store: %v", err)
		}
		goleak.VerifyNone(t, goleak.IgnoreAnyFunction("testing.(*T).Run"), goleak.IgnoreTopFunction("testing.(*T).Run"))
		if after := openFiles(t); after > before {
			t.Errorf("%d descriptors before, %d after: %s", before, after, listFiles())
		}
		if f := e.Features(); f.Cgroup != "" {
			if _, err := os.Stat(f.Cgroup); !os.IsNotExist(err) {
				t.Errorf("the cgroups are left: %v", err)
			}
		}
	})
	return r
}

// warmUp has the runtime open what it keeps for its netpoller.
func warmUp(t testing.TB) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
}

func options(t testing.TB) Options {
	t.Helper()
	store, err := spill.OpenStore(spill.Options{Root: privateDir(t), Node: "TEST"})
	if err != nil {
		t.Fatal(err)
	}
	m := modeNow()
	o := Options{
		Node: "TEST", Store: store, Own: m.own, NoCgroup: m.nocgroup,
		Fault: func(job messages.UID, err error) { t.Errorf("fault of %s: %v", job, err) },
	}
	if m.apart {
		o.apart = -1
	}
	return o
}

func privateDir(t testing.TB) string {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openFiles(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func listFiles() string {
	names, _ := os.ReadDir("/proc/self/fd")
	var b strings.Builder
	for _, n := range names {
		to, _ := os.Readlink("/proc/self/fd/" + n.Name())
		info, _ := os.ReadFile("/proc/self/fdinfo/" + n.Name())
		fmt.Fprintf(&b, "\n  %s %s %q", n.Name(), to, info)
	}
	return b.String()
}

// ear hears the facts of one job.
type ear struct {
	t    testing.TB
	id   messages.UID
	proc backends.Process

	mu    sync.Mutex
	facts []messages.ProcessFact
	heard chan struct{} // closed and made anew at each fact
}

func newEar(t testing.TB) *ear { return &ear{t: t, heard: make(chan struct{})} }

func (e *ear) hear(f messages.ProcessFact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts = append(e.facts, f)
	close(e.heard)
	e.heard = make(chan struct{})
}

func (e *ear) all() []messages.ProcessFact {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.facts)
}

// await waits for a fact of the type T, wherever it stands.
func await[T messages.ProcessFact](e *ear) T {
	e.t.Helper()
	return awaitThat(e, func(T) bool { return true })
}

func awaitThat[T messages.ProcessFact](e *ear, is func(T) bool) T {
	e.t.Helper()
	var want T
	e.hears(fmt.Sprintf("%T", want), func(facts []messages.ProcessFact) bool {
		for _, f := range facts {
			if w, ok := f.(T); ok && is(w) {
				want = w
				return true
			}
		}
		return false
	})
	return want
}

// hears waits until what was told is what is waited for.
func (e *ear) hears(what string, is func([]messages.ProcessFact) bool) {
	e.t.Helper()
	expired := time.After(patience)
	for {
		e.mu.Lock()
		heard, facts := e.heard, slices.Clone(e.facts)
		e.mu.Unlock()
		if is(facts) {
			return
		}
		select {
		case <-heard:
		case <-expired:
			e.t.Fatalf("%s: no %s came; heard %+v", e.id, what, e.all())
		}
	}
}

func has[T messages.ProcessFact](e *ear) bool {
	for _, f := range e.all() {
		if _, ok := f.(T); ok {
			return true
		}
	}
	return false
}

// over waits for the end of a job and gives its result.
func (e *ear) over() messages.ProcessExited {
	e.t.Helper()
	x := await[messages.ProcessExited](e)
	await[messages.OutputClosed](e)
	await[messages.TreeEnded](e)
	return x
}

// spec is a job of a shell text.
func (r *rig) spec(text string) backends.Spec {
	return r.argv("bash", "--norc", "--noprofile", "-c", text)
}

func (r *rig) argv(argv ...string) backends.Spec {
	return backends.Spec{
		ID:   messages.UID(fmt.Sprintf("J%d", r.next.Add(1))),
		Argv: argv, Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, Umask: -1, Grace: time.Second,
	}
}

func (r *rig) start(s backends.Spec) *ear {
	e := newEar(r.t)
	e.id = s.ID
	e.proc = r.e.Start(s, e.hear)
	return e
}

// run runs a shell text to its end.
func (r *rig) run(text string) (*ear, messages.ProcessExited) {
	r.t.Helper()
	e := r.start(r.spec(text))
	return e, e.over()
}

// log opens a log.
func (r *rig) log(e *ear, s messages.Stream) spill.Log {
	r.t.Helper()
	log, err := e.proc.Output(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return log
}

// output reads a whole log.
func (r *rig) output(e *ear, s messages.Stream) string {
	r.t.Helper()
	log := r.log(e, s)
	defer log.Close()
	buf := make([]byte, log.State().Size)
	if _, err := log.ReadAt(buf, 0); err != nil && len(buf) > 0 && err.Error() != "EOF" {
		r.t.Fatal(err)
	}
	return string(buf)
}

// grown waits until the stream is larger than from.
func (e *ear) grown(s messages.Stream, from int64) int64 {
	e.t.Helper()
	e.proc.NotifyGrowth(s, from)
	return awaitThat(e, func(g messages.OutputGrew) bool { return g.Stream == s && g.Size > from }).Size
}

// gate is a place at which a job waits: "read x < PATH" returns when open is
// called.
type gate struct {
	t    testing.TB
	path string
}

func newGate(t testing.TB) gate {
	t.Helper()
	g := gate{t, filepath.Join(t.TempDir(), "gate")}
	if err := unix.Mkfifo(g.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g gate) open() {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0) // waits for the job
	if err != nil {
		g.t.Fatal(err)
	}
	f.Close()
}

// within takes what comes next, if it comes in time.
func within[T any](t testing.TB, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("no %T came", v)
	}
	return v
}
