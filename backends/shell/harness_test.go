package shell_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/backends/shell"
	"troupe/messages"
	"troupe/spill"
)

// patience bounds every wait for something that must come.
const patience = time.Minute

// rig is an engine with the backend of live shells.
type rig struct {
	testing.TB
	engine  *engine.Local
	store   *spill.Disk
	backend *shell.Backend
	root    string

	terminal bool
}

func newRig(t testing.TB, o shell.Options) *rig {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	node := fmt.Sprintf("TEST%d", time.Now().UnixNano())
	store, err := spill.OpenStore(spill.Options{Root: root, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Node: node, Store: store, ScriptDir: store.Dir,
		Fault: func(job messages.UID, fault error) { t.Errorf("a fault of job %s: %v", job, fault) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := e.Close(false); len(left) > 0 {
			t.Errorf("survivors: %+v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(root, node, "troupe-*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{TB: t, engine: e, store: store, backend: shell.New(e, o), root: root, terminal: o.Terminal != messages.Terminal{}}
}

// session is one place of a test.
type session struct {
	*rig
	shell string
	place backends.Executor
	env   []string
	*ear  // of the place
}

func (r *rig) open(name string, changes ...func(*backends.ExecutorSpec)) *session {
	r.Helper()
	dir := r.TempDir()
	s := &session{rig: r, shell: name, env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/sbin:/usr/sbin", "HOME=" + dir, "LANG=C.UTF-8"}, ear: newEar(r)}
	at := backends.ExecutorSpec{Scope: "main", Session: "s", Dir: dir, Env: s.env, Umask: -1, Shell: name}
	for _, change := range changes {
		change(&at)
	}
	place, err := r.backend.Open(at, nil, s.ear.facts)
	if err != nil {
		r.Fatal(err)
	}
	s.place = place
	return s
}

// close ends the place, and waits for that.
func (s *session) close() {
	s.Helper()
	s.place.Close(0)
	await[messages.ShellClosed](s.ear)
}

// ear hears facts.
type ear struct {
	t     testing.TB
	mu    sync.Mutex
	heard []messages.ProcessFact
	wake  chan struct{}
}

func newEar(t testing.TB) *ear { return &ear{t: t, wake: make(chan struct{}, 1)} }

func (e *ear) facts(f messages.ProcessFact) {
	e.mu.Lock()
	e.heard = append(e.heard, f)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *ear) all() []messages.ProcessFact {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard)
}

// until waits for something among the facts.
func (e *ear) until(what string, is func([]messages.ProcessFact) bool) {
	e.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !is(e.all()) {
		select {
		case <-e.wake:
		case <-late.C:
			e.t.Fatalf("%s did not come: %+v", what, e.all())
		}
	}
}

func find[F messages.ProcessFact](heard []messages.ProcessFact) (f F, ok bool) {
	for _, h := range heard {
		if f, ok = h.(F); ok {
			return f, true
		}
	}
	return f, false
}

func await[F messages.ProcessFact](e *ear) F {
	e.t.Helper()
	var f F
	e.until(fmt.Sprintf("%T", f), func(heard []messages.ProcessFact) bool {
		_, ok := find[F](heard)
		return ok
	})
	f, _ = find[F](e.all())
	return f
}

// run is one command of a session.
type run struct {
	*session
	id   messages.UID
	proc backends.Process
	*ear
}

var lastID atomic.Int64

func newID() messages.UID { return messages.UID(fmt.Sprintf("01%024X", lastID.Add(1))) }

func (s *session) start(text string, changes ...func(*backends.Command)) *run {
	s.Helper()
	c := backends.Command{ID: newID(), Text: text, Umask: -1, Grace: time.Minute, Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams}, Meta: []byte("{}")}
	for _, change := range changes {
		change(&c)
	}
	if err := s.place.Check(c); err != nil {
		s.Fatalf("%q is refused: %v", text, err)
	}
	r := &run{session: s, id: c.ID, ear: newEar(s)}
	r.proc = s.place.Start(c, r.ear.facts)
	return r
}

// result waits for it.
func (r *run) result() messages.ProcessExited {
	r.t().Helper()
	r.ear.until("the result", func(heard []messages.ProcessFact) bool {
		_, exited := find[messages.ProcessExited](heard)
		_, failed := find[messages.ProcessFailed](heard)
		return exited || failed
	})
	if f, failed := find[messages.ProcessFailed](r.ear.all()); failed {
		r.t().Fatalf("it failed: %+v", f)
	}
	f, _ := find[messages.ProcessExited](r.ear.all())
	return f
}

func (r *run) t() testing.TB { return r.session.rig.TB }

// over waits for the last word.
func (r *run) over() messages.ProcessExited {
	r.t().Helper()
	r.ear.until("the end", func(heard []messages.ProcessFact) bool {
		_, closed := find[messages.OutputClosed](heard)
		_, ended := find[messages.TreeEnded](heard)
		return closed && ended
	})
	return r.result()
}

// output is what a stream has.
func (r *run) output(s messages.Stream) string {
	r.t().Helper()
	log, err := r.proc.Output(s)
	if err != nil {
		r.t().Fatalf("no output: %v", err)
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
	if err != nil {
		r.t().Fatal(err)
	}
	return string(text)
}

// wrote waits until the output has text.
func (r *run) wrote(text string) {
	r.t().Helper()
	await[messages.ProcessStarted](r.ear)
	for {
		got := r.output(messages.Merged)
		if strings.Contains(got, text) {
			return
		}
		seen := len(r.ear.all())
		r.proc.NotifyGrowth(messages.Merged, int64(len(got)))
		r.ear.until("more output", func(heard []messages.ProcessFact) bool {
			_, grew := find[messages.OutputGrew](heard[seen:])
			_, ended := find[messages.ProcessExited](heard)
			return grew || ended
		})
		if _, ended := find[messages.ProcessExited](r.ear.all()); ended && !strings.Contains(r.output(messages.Merged), text) {
			r.t().Fatalf("it has ended and wrote %q, not %q", r.output(messages.Merged), text)
		}
	}
}

// settle lets the engine forget the command.
func (r *run) settle() {
	f := r.over()
	last := max(f.Seq, f.Last)
	for _, h := range r.ear.all() {
		switch h := h.(type) {
		case messages.OutputClosed:
			last = max(last, h.Seq)
		case messages.TreeEnded:
			last = max(last, h.Seq)
		}
	}
	r.proc.Settle(last)
	r.proc.Release()
}

// say runs a command to its result, and gives what it wrote and its status.
func (s *session) say(text string, changes ...func(*backends.Command)) (string, messages.ProcessExited) {
	s.Helper()
	r := s.start(text, changes...)
	f := r.result()
	out := r.output(messages.Merged)
	return out, f
}

func glob(pattern string) []string {
	list, _ := filepath.Glob(pattern)
	return list
}

// onTerminals is how a backend of shells on terminals is made.
var onTerminals = shell.Options{Terminal: messages.Terminal{Rows: 24, Cols: 80}}
