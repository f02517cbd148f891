package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// posixDriver is the driver of a shell that knows no more than POSIX. An ordinary user's
// mode cannot read the checkout: TestModes passes it on.
var posixDriver = sync.OnceValue(func() string {
	text := os.Getenv(driverVar)
	if text == "" {
		file, err := os.ReadFile("../shell/drivers/posix.sh")
		if err != nil {
			panic(err)
		}
		text = string(file)
	}
	return text
})

const driverVar = "TROUPE_ENGINE_DRIVER"

// shell is a live shell of a test.
func (r *rig) shell(change ...func(*backends.Spec)) (backends.Spec, *ear) {
	r.t.Helper()
	s := r.argv("sh", "-c", "while :; do . '@DIR@/driver'; done") // an interrupt between two turns ends the file
	s.Dir = r.t.(*testing.T).TempDir()
	s.Live = &backends.LiveShell{Files: map[string]string{"driver": posixDriver()}}
	for _, c := range change {
		c(&s)
	}
	return s, r.start(s)
}

func (r *rig) in(shell messages.UID, text string) backends.Spec {
	s := r.argv()
	s.In, s.Script = shell, text
	return s
}

// say runs a command in a live shell to its last word.
func (r *rig) say(shell messages.UID, text string) (string, messages.ProcessExited) {
	r.t.Helper()
	e := r.start(r.in(shell, text))
	f := e.over()
	return r.output(e, messages.Merged), f
}

func TestCommandsInALiveShell(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	s, e := r.shell()
	if out, f := r.say(s.ID, "cd /usr; x=1; echo hi"); out != "hi\n" || f.Status != (messages.ExitStatus{}) || f.Dir != "/usr" || f.Last == 0 {
		t.Errorf("%q, %+v", out, f)
	}
	if out, f := r.say(s.ID, "echo $x; (exit 3)"); out != "1\n" || f.Status.Code != 3 {
		t.Errorf("%q, %+v", out, f)
	}
	if out, _ := r.say(s.ID, "echo long\n"+strings.Repeat("#\n", 100_000)); out != "long\n" {
		t.Errorf("a long text: %q", out)
	}
	busy := r.start(r.in(s.ID, "echo ready; sleep 60 & wait"))
	busy.grown(messages.Merged, 5)
	late := r.start(r.in(s.ID, "echo no"))
	if f := await[messages.ProcessFailed](late); f.Err.Code != messages.Busy || f.Err.Reason != "shell" {
		t.Errorf("%+v", f)
	}
	e.proc.Stop(messages.Cause{By: messages.ByScope, Reason: "test"}, 0)
	if f := busy.over(); f.Status.Signal != "KILL" || f.Cause.By != messages.ByScope || fmt.Sprint(f.Flags) != "[session_ended]" || f.Dir != "/usr" {
		t.Errorf("the command of a shell that was ended: %+v", f)
	}
	if f := e.over(); f.Dir != "/usr" {
		t.Errorf("the shell: %+v", f)
	}
	gone := r.start(r.in(s.ID, "echo no"))
	if f := await[messages.ProcessFailed](gone); f.Err.Code != messages.SessionClosedCode || f.Err.Reason != "shell_gone" {
		t.Errorf("%+v", f)
	}
}

// The directory is this user's alone, and there until the shell is settled.
func TestTheDirectoryOfALiveShell(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	dir, err := r.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	list := func(what string) []string {
		found, _ := filepath.Glob(filepath.Join(dir, "troupe-shell-*", what))
		return found
	}
	s, e := r.shell()
	r.say(s.ID, ":")
	r.say(s.ID, "umask 077; echo value >'"+list(".")[0]+"/kept'")
	for what, mode := range map[string]os.FileMode{".": os.ModeDir | 0o700, "driver": 0o600, "text": 0o600, "ctl": os.ModeNamedPipe | 0o600, "st": os.ModeNamedPipe | 0o600} {
		if info, err := os.Stat(list(what)[0]); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", what, info.Mode(), err)
		}
	}
	if names := list("[^k]*"); len(names) != 5 { // and out; what is kept is written after the report
		t.Errorf("behind a command there are %q", names)
	}
	r.start(r.in(s.ID, "exit 4")).over()
	last := e.over()
	next, n := r.shell(func(s *backends.Spec) { s.Live.From = e.id })
	r.say(next.ID, ":")
	if out, _ := r.say(next.ID, "cat '"+filepath.Dir(list("kept")[0])+"/kept'"); out != "value\n" {
		t.Errorf("the next has %q", out)
	}
	e.proc.Settle(last.Last)
	n.proc.Stop(messages.Cause{By: messages.ByScope}, 0)
	f := n.over()
	n.proc.Settle(max(f.Last, f.Seq+2))
	if left := list("."); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// Words that others write to the side channel change nothing, or end the shell.
func TestForgedWordsInALiveShell(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	dir, err := r.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.shell()
	r.say(s.ID, ":")
	st, _ := filepath.Glob(filepath.Join(dir, "troupe-shell-*", "st"))
	if err := unix.Mkfifo(strings.TrimSuffix(st[0], "st")+"go", 0o600); err != nil {
		t.Fatal(err)
	}
	e := r.start(r.in(s.ID, "echo ready; read -r x <"+strings.TrimSuffix(st[0], "st")+"go; (exit 6)"))
	e.grown(messages.Merged, 5)
	f, err := os.OpenFile(st[0], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"\x00\x000123456789abcdef 0 /\x00", "ready 0 /nowhere\x00", "x", strings.Repeat("y", 3*maxReport), "\x00 \x00a b\x00a b c\x00"} {
		if _, err := f.WriteString(word); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	if has[messages.ProcessExited](e) {
		t.Error("a forged word has ended it")
	}
	g, err := os.OpenFile(strings.TrimSuffix(st[0], "st")+"go", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if x := e.over(); x.Status.Code != 6 || x.Dir == "/nowhere" {
		t.Errorf("%+v", x)
	}
	if out, _ := r.say(s.ID, "echo on"); out != "on\n" {
		t.Errorf("behind it %q", out)
	}
}

// Who ends a command, and is late, ends nothing of the next.
func TestFaultLateKillInALiveShell(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	s, _ := r.shell(func(s *backends.Spec) { // an INT does not take its word from it
		s.Live.Files["driver"] = strings.Replace(posixDriver(), "trap '__troupe_i=130; return 130' INT", "trap : INT", 1)
	})
	runs := func(text string) (*ear, *shellCommandTree) {
		spec := r.in(s.ID, text)
		spec.Stdio.Stdin = messages.StdinPipe
		e := r.start(spec)
		await[messages.ProcessStarted](e)
		w := r.e.find(e.id).tree.(*shellCommandTree)
		until(t, func() bool { return len(w.members()) == 1 })
		return e, w
	}
	for range 3 {
		first, w := runs("sh -c 'read x; exit 5'")
		first.proc.Stop(client(), 0)
		if f := first.over(); f.Cause.By != messages.ByClient || f.Status.Code != 137 {
			t.Errorf("%+v", f)
		}
		next, _ := runs("sh -c 'read x; exit 6'")
		w.kill()
		w.signal(unix.SIGTERM)
		w.interruptNew(map[executed]bool{})
		next.types("\n")
		if f := next.over(); f.Status.Code != 6 {
			t.Errorf("it was ended with the one before: %+v", f)
		}
	}
}

// liveFaults fails one kind of call, from the nth on until it is lifted.
type liveFaults struct {
	Sys
	call  string
	left  *atomic.Int64
	times *atomic.Int64
}

func (s liveFaults) fails(call string) bool {
	return call == s.call && s.left.Add(-1) < 0 && s.times.Add(-1) >= 0
}

func (s liveFaults) Mkfifo(path string) error {
	if s.fails("mkfifo") {
		return unix.ENOSPC
	}
	return s.Sys.Mkfifo(path)
}

func (s liveFaults) Create(path string) (int, error) {
	if s.fails("create") {
		return -1, unix.EMFILE
	}
	return s.Sys.Create(path)
}

func (s liveFaults) Pwrite(fd int, p []byte) (int, error) {
	if s.fails("pwrite") {
		return 0, unix.ENOSPC
	}
	return s.Sys.Pwrite(fd, p)
}

// Whatever fails in making a shell or a command, the one fails and says why, and the
// next succeeds.
func TestFaultInALiveShell(t *testing.T) {
	for _, c := range []struct {
		call string
		nth  int64
		code messages.Code
	}{
		{"mkfifo", 0, messages.ResourceExhausted}, // ctl
		{"mkfifo", 1, messages.ResourceExhausted}, // st
		{"mkfifo", 2, messages.ResourceExhausted}, // out
		{"create", 0, messages.ResourceExhausted}, // the driver
		{"create", 1, messages.ResourceExhausted}, // text
		{"pwrite", 0, messages.SpawnFailed},
	} {
		t.Run(fmt.Sprintf("%s %d", c.call, c.nth), func(t *testing.T) {
			var left, times atomic.Int64
			left.Store(c.nth)
			times.Store(1)
			r := newRig(t, func(o *Options) {
				o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir
				o.Sys = liveFaults{kernel{}, c.call, &left, &times}
			})
			s, _ := r.shell()
			e := r.start(r.in(s.ID, "echo no"))
			if f := await[messages.ProcessFailed](e); f.Err.Code != c.code || f.Err.Message == "" {
				t.Errorf("%+v", f)
			}
			s, _ = r.shell()
			if out, f := r.say(s.ID, "echo yes"); out != "yes\n" {
				t.Errorf("%q, %+v", out, f)
			}
		})
	}
}

func TestBadInputOfALiveShell(t *testing.T) {
	r := newRig(t)
	for name, change := range map[string]func(*backends.Spec){
		"a path":     func(s *backends.Spec) { s.Live.Files = map[string]string{"../x": ""} },
		"the fifo":   func(s *backends.Spec) { s.Live.Files = map[string]string{"ctl": ""} },
		"a command":  func(s *backends.Spec) { s.In = "01" },
		"no program": func(s *backends.Spec) { s.Argv = nil },
	} {
		_, e := r.shell(change)
		if f := await[messages.ProcessFailed](e); f.Err.Code != messages.InvalidParams {
			t.Errorf("%s: %+v", name, f)
		}
	}
	s := r.in("nobody", "echo")
	e := r.start(s)
	if f := await[messages.ProcessFailed](e); f.Err.Code != messages.SessionClosedCode {
		t.Errorf("%+v", f)
	}
	s.ID, s.Stdio.Stdin = s.ID+"x", messages.StdinHost
	if f := await[messages.ProcessFailed](r.start(s)); f.Err.Code != messages.Unsupported {
		t.Errorf("%+v", f)
	}
	if _, err := r.e.Adopt("nobody", nil); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		t.Error(err)
	}
}

// A command that is stopped while its shell comes up never begins, and the shell is free.
func TestStoppedBeforeTheShellIsReady(t *testing.T) {
	r := newRig(t)
	s, _ := r.shell(func(s *backends.Spec) {
		s.Live.Files["driver"] = "sleep 0.3\n" + posixDriver()
		s.Live.Within = 30 * time.Second
	})
	e := r.start(r.in(s.ID, "echo no"))
	e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
	if f := await[messages.ProcessFailed](e); f.Err.Reason != "stopped" {
		t.Errorf("%+v", f)
	}
	if out, _ := r.say(s.ID, "echo yes"); out != "yes\n" {
		t.Errorf("%q", out)
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte("\x000123456789abcdef 0 /tmp\x00ready 0 /\x00x run \x00"), 7)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		var whole, parts []report
		var a, b reports
		a.take(p, func(r report) { whole = append(whole, r) })
		cut = min(max(cut, 0), len(p))
		b.take(p[:cut], func(r report) { parts = append(parts, r) })
		b.take(p[cut:], func(r report) { parts = append(parts, r) })
		if fmt.Sprint(whole) != fmt.Sprint(parts) {
			t.Fatalf("%q is %v, cut at %d %v", p, whole, cut, parts)
		}
		if len(a.part) > maxReport {
			t.Fatalf("%d bytes are kept", len(a.part))
		}
		for _, r := range whole {
			if r.status < 0 || r.status > 255 || r.cwd != "" && r.cwd[0] != '/' {
				t.Fatalf("%q gave %+v", p, r)
			}
		}
	})
}
