package engine

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// terminalless has no terminal, or fails at the nth of the calls that one needs.
type terminalless struct {
	kernel
	err  error
	call string
}

func (k terminalless) fails(call string) error {
	if k.call == call {
		return k.err
	}
	return nil
}

func (k terminalless) OpenTerminal() (int, int, error) {
	if err := k.fails("open"); err != nil {
		return -1, -1, err
	}
	return k.kernel.OpenTerminal()
}

func (k terminalless) Modes(fd int) (*unix.Termios, error) {
	if err := k.fails("modes"); err != nil {
		return nil, err
	}
	return k.kernel.Modes(fd)
}

func (k terminalless) SetSize(fd int, rows, cols uint16) error {
	return errors.Join(k.fails("size"), k.kernel.SetSize(fd, rows, cols))
}

func (k terminalless) SetNonblock(fd int) error {
	if err := k.fails("nonblock"); err != nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR {
			return err
		}
	}
	return k.kernel.SetNonblock(fd)
}

// A terminal that is not to be had is told by its reason, and by what to do; nothing is
// left of the try, and a job without one runs.
func TestFaultNoTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		sys    terminalless
		code   messages.Code
		reason string
		says   string
		hint   string
	}{
		"all in use": {
			terminalless{err: &os.PathError{Op: "open", Path: "/dev/ptmx", Err: unix.ENOSPC}, call: "open"},
			messages.ResourceExhausted, "kernel.pty.max", "kernel.pty.max is ", "sysctl kernel.pty.max",
		},
		"no descriptor": {terminalless{err: unix.EMFILE, call: "open"}, messages.ResourceExhausted, "EMFILE", "terminal", "ulimit -n"},
		"no devpts":     {terminalless{err: unix.ENOENT, call: "open"}, messages.SpawnFailed, "ENOENT", "terminal", "devpts"},
		"no modes":      {terminalless{err: unix.EIO, call: "modes"}, messages.SpawnFailed, "EIO", "terminal", ""},
		"no size":       {terminalless{err: unix.EIO, call: "size"}, messages.SpawnFailed, "EIO", "terminal", ""},
		"it waits":      {terminalless{err: unix.EINVAL, call: "nonblock"}, messages.SpawnFailed, "EINVAL", "terminal", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Sys = c.sys })
			e := r.onTerminal("echo hi")
			f := await[messages.ProcessFailed](e)
			if f.Err.Code != c.code || f.Err.Reason != c.reason || !strings.Contains(f.Err.Message, c.says) || !strings.Contains(f.Err.Hint, c.hint) {
				t.Errorf("%+v", f)
			}
			if _, x := r.run("exit 7"); x.Status.Code != 7 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// The machine's limit is met, and told; who has a terminal keeps it, and one that is
// given back is to be had again.
func TestFaultAllTerminalsAreInUse(t *testing.T) {
	const limit = "/proc/sys/kernel/pty/max"
	before, err := os.ReadFile(limit)
	if err != nil {
		t.Fatal(err)
	}
	few := atomic.Int32{}
	few.Store(3)
	r := newRig(t, func(o *Options) { o.Sys = &rationed{left: &few} })
	var ears []*ear
	for range 3 {
		ears = append(ears, r.onTerminal("echo up; read x; exit 5"))
	}
	for _, e := range ears {
		r.says(e, "up")
	}
	f := await[messages.ProcessFailed](r.onTerminal("echo hi"))
	if f.Err.Code != messages.ResourceExhausted || !strings.Contains(f.Err.Message, strings.TrimSpace(string(before))) {
		t.Errorf("%+v", f)
	}
	ears[0].types("\n")
	if x := ears[0].over(); x.Status.Code != 5 {
		t.Errorf("%+v", x)
	}
	few.Add(1)
	next := r.onTerminal("exit 6")
	if x := next.over(); x.Status.Code != 6 {
		t.Errorf("%+v", x)
	}
	for _, e := range ears[1:] {
		e.types("\n")
		e.over()
	}
}

// counted is a machine with so many terminals in use.
type counted struct {
	kernel
	nr, most string // files
}

func (k counted) OpenAt(dir int, path string, flags int) (int, error) {
	switch path {
	case "/proc/sys/kernel/pty/nr":
		path = k.nr
	case "/proc/sys/kernel/pty/max":
		path = k.most
	}
	return k.kernel.OpenAt(dir, path, flags)
}

// The last terminals of a machine are not for jobs, and whoever is refused one has opened none.
func TestFaultSomeTerminalsAreKeptFree(t *testing.T) {
	for _, c := range []struct {
		nr, most string
		refused  string
	}{
		{"4032", "4096", ""},
		{"4033", "4096", "4032 of the 4096 terminals of this machine are in use (kernel.pty.max), and the last 64 are not for jobs"},
		{"51", "100", "50 of the 100 terminals"},
		{"9", "", ""},
	} {
		t.Run(c.nr+" of "+c.most, func(t *testing.T) {
			dir := t.TempDir()
			k := counted{nr: dir + "/nr", most: dir + "/max"}
			if os.WriteFile(k.nr, []byte(c.nr+"\n"), 0o600) != nil || os.WriteFile(k.most, []byte(c.most+"\n"), 0o600) != nil {
				t.Fatal("no files")
			}
			e := newRig(t, func(o *Options) { o.Sys = k }).onTerminal("exit 5")
			if c.refused == "" {
				if x := e.over(); x.Status.Code != 5 {
					t.Errorf("%+v", x)
				}
				return
			}
			f := await[messages.ProcessFailed](e)
			if f.Err.Code != messages.ResourceExhausted || f.Err.Reason != "kernel.pty.max" || !strings.Contains(f.Err.Message, c.refused) || f.Err.Hint == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

// rationed has only some terminals left.
type rationed struct {
	kernel
	left *atomic.Int32
}

func (k *rationed) OpenTerminal() (int, int, error) {
	if k.left.Add(-1) < 0 {
		k.left.Add(1)
		return -1, -1, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: unix.ENOSPC}
	}
	return k.kernel.OpenTerminal()
}

// Without descriptors there are no terminals either; when there are some there are.
func TestFaultNoDescriptorsForATerminal(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Fault = func(_ messages.UID, err error) {
			if !errors.Is(err, unix.EMFILE) {
				t.Errorf("fault: %v", err)
			}
		}
	})
	up := r.onTerminal("echo up; sleep 100")
	r.says(up, "up")
	refused, taken := untilItStarts(t, func() *ear { return r.onTerminal("exit 7") })
	if refused < 2 || len(taken) == 0 { // each end, at least
		t.Errorf("%d jobs were refused, %d descriptors are taken", refused, len(taken))
	}
	for _, fd := range taken {
		unix.Close(fd)
	}
	up.proc.Stop(client(), 0)
	up.over()
}

// A control that the terminal refuses is refused, and the job goes on.
func TestFaultTerminalRefusesAControl(t *testing.T) {
	sys := &moody{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	e := r.onTerminal("echo up; read x; exit 6")
	r.says(e, "up")
	sys.bad.Store(true)
	if fact := r.e.find(e.id).resize(messages.Terminal{Rows: 1, Cols: 1}); fact.(messages.ControlRefused).Err.Reason != "EIO" {
		t.Errorf("%+v", fact)
	}
	if fact := r.e.find(e.id).resetTerminal(); fact.(messages.ControlRefused).Err.Reason != "EIO" {
		t.Errorf("%+v", fact)
	}
	e.types("\n") // its modes are not told
	if x := e.over(); x.Status.Code != 6 {
		t.Errorf("%+v", x)
	}
}

// moody refuses to touch terminals while bad is set.
type moody struct {
	kernel
	bad atomic.Bool
}

func (m *moody) Modes(fd int) (*unix.Termios, error) {
	if m.bad.Load() {
		return nil, unix.EIO
	}
	return m.kernel.Modes(fd)
}

func (m *moody) SetModes(fd int, modes *unix.Termios) error {
	if m.bad.Load() {
		return unix.EIO
	}
	return m.kernel.SetModes(fd, modes)
}

func (m *moody) SetSize(fd int, rows, cols uint16) error {
	if m.bad.Load() {
		return unix.EIO
	}
	return m.kernel.SetSize(fd, rows, cols)
}

// Where nobody says when there is something in a terminal, or room, the engine looks,
// and loses nothing.
func TestFaultTerminalIsNotWatched(t *testing.T) {
	full := &atomic.Bool{}
	full.Store(true)
	r := newRig(t, func(o *Options) { o.Sys = unwatched{full: full} })
	e := r.onTerminal("stty raw -echo; printf up; head -c 30000 > /dev/null; seq 100000; exit 3")
	r.says(e, "up")
	if attended(r.streams(e)[0]) {
		t.Error("it is watched")
	}
	e.types(strings.Repeat("x", 30_000))
	if x := e.over(); x.Sizes[0] != 588_895+2 || x.Status.Code != 3 {
		t.Errorf("%+v", x)
	}
}

// What the engine says of terminals is what it found.
func TestTerminalFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		sys                Sys
		terminals, spliced bool
	}{
		"none":      {terminalless{err: unix.ENOENT, call: "open"}, false, false},
		"no splice": {spliceless{}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Sys = c.sys })
			f := r.e.Features()
			if f.Terminals != c.terminals || (f.NoTerminal == "") != c.terminals || f.Spliced != c.spliced {
				t.Errorf("%+v", f)
			}
		})
	}
	r := newRig(t)
	if f := r.e.Features(); !f.Terminals || f.NoTerminal != "" {
		t.Errorf("%+v", f)
	}
}

// spliceless has no splice.
type spliceless struct{ kernel }

func (spliceless) Splice(int, int, int) (int, error) { return 0, unix.EINVAL }

// A control that the job has seen was done, though the job exits of it before that is
// said.
func TestFaultControlEndsTheJob(t *testing.T) {
	sys := &slowSize{exited: make(chan struct{})}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	e := r.onTerminal("trap 'exit 3' WINCH; echo up; while :; do read -t 0.1 x; done")
	r.says(e, "up")
	j := r.e.find(e.id)
	e.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 50, Cols: 132}})
	e.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 51, Cols: 132}})
	until(t, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.phase >= phaseExited
	})
	close(sys.exited)
	if x := e.over(); x.Status.Code != 3 {
		t.Errorf("%+v", x)
	}
	if got := answers(e); !slices.Equal(got, []string{"done", "refused job_finished"}) {
		t.Errorf("%v", got)
	}
}

// slowSize is held up behind the change of a size until the job has exited.
type slowSize struct {
	kernel
	exited chan struct{}
}

func (k *slowSize) SetSize(fd int, rows, cols uint16) error {
	err := k.kernel.SetSize(fd, rows, cols)
	if rows == 50 {
		<-k.exited
	}
	return err
}
