package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// words are the facts in their order, without those that inform only.
func words(e *ear) string {
	var s []string
	for _, f := range e.all() {
		switch f.(type) {
		case messages.OutputGrew, messages.MainExited:
			continue
		}
		s = append(s, strings.TrimPrefix(fmt.Sprintf("%T", f), "messages."))
	}
	return strings.Join(s, " ")
}

const wholeLife = "ProcessStarted ProcessExited OutputClosed TreeEnded"

func TestJobRunsToItsEnd(t *testing.T) {
	r := newRig(t)
	e, x := r.run("echo hi; exit 3")
	if x.Status != (messages.ExitStatus{Code: 3}) || x.Cause != (messages.Cause{}) || x.OutputOpen || x.Children != 0 || len(x.Flags) > 0 {
		t.Errorf("%+v", x)
	}
	if got := r.output(e, messages.Merged); got != "hi\n" {
		t.Errorf("output %q", got)
	}
	if x.Sizes[messages.Merged] != 3 {
		t.Errorf("sizes %v", x.Sizes)
	}
	if got := words(e); got != wholeLife {
		t.Errorf("facts: %s", got)
	}
	if x.Rusage.MaxRSS == 0 {
		t.Errorf("no usage: %+v", x.Rusage)
	}
}

func TestJobEndsBySignal(t *testing.T) {
	r := newRig(t)
	for sig, number := range map[string]int{"KILL": 9, "TERM": 15, "SEGV": 11} {
		_, x := r.run("kill -" + sig + " $$; sleep 10")
		if x.Status != (messages.ExitStatus{Signal: sig, Number: number}) || x.Cause != (messages.Cause{}) {
			t.Errorf("%s: %+v", sig, x)
		}
	}
}

// The start is said before the exit, however soon that comes (F45); and an
// output is not open because a child of another fork has not reached its exec.
func TestFaultJobStartsBeforeItEnds(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Spawners = 8 })
	var ears []*ear
	for range 300 {
		ears = append(ears, r.start(r.argv("/bin/true")))
	}
	for _, e := range ears {
		if x := e.over(); x.OutputOpen || words(e) != wholeLife {
			t.Fatalf("facts: %s", words(e))
		}
		started := await[messages.ProcessStarted](e)
		if started.PID <= 0 || started.StartTime == 0 || started.At.IsZero() {
			t.Fatalf("%+v", started)
		}
	}
}

func TestJobHasSeparateStreams(t *testing.T) {
	r := newRig(t)
	s := r.spec("echo out; echo err >&2; echo out")
	s.Stdio.Streams = messages.SeparateStreams
	e := r.start(s)
	x := e.over()
	if out, err := r.output(e, messages.Stdout), r.output(e, messages.Stderr); out != "out\nout\n" || err != "err\n" {
		t.Errorf("%q and %q", out, err)
	}
	if x.Sizes != (messages.Sizes{0, 8, 4}) {
		t.Errorf("sizes %v", x.Sizes)
	}
	if _, err := e.proc.Output(messages.Merged); err == nil {
		t.Error("there is a merged log of separate streams")
	}
}

func TestJobMergesInOrder(t *testing.T) {
	r := newRig(t)
	e, _ := r.run("for i in 1 2 3 4 5; do echo $i; echo $i >&2; done; echo A > /dev/stdout; echo B > /dev/stderr")
	if got := r.output(e, messages.Merged); got != "1\n1\n2\n2\n3\n3\n4\n4\n5\n5\nA\nB\n" {
		t.Errorf("%q", got)
	}
}

// A job gets its environment whole, its directory, and 0, 1 and 2 only.
func TestJobIsPlaced(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	s := r.argv("/usr/bin/env")
	s.Env, s.Dir = []string{"A=1", "B=two words", "PATH=/usr/bin"}, dir
	e := r.start(s)
	e.over()
	want := "A=1\nB=two words\nPATH=/usr/bin\n"
	if r.e.host.orphans != nil {
		want += "TROUPE_TREE=TEST:" + string(s.ID) + "\n"
	}
	if got := r.output(e, messages.Merged); got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	s = r.spec("pwd -P; ls /proc/self/fd; ps -o sid= -p $$ 2>/dev/null || true; umask; read x; echo $?")
	s.Dir = dir
	e = r.start(s)
	e.over()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(r.output(e, messages.Merged), "\n")
	if lines[0] != real {
		t.Errorf("it runs in %s, want %s", lines[0], real)
	}
	if got := strings.Join(lines[1:5], " "); got != "0 1 2 3" { // 3 is ls's own
		t.Errorf("descriptors %s", got)
	}
	if n := len(lines); lines[n-2] != "1" {
		t.Errorf("reading standard input gave %s, want end of file", lines[n-2])
	}
}

// What the host left open by mistake is no job's. In a process that is
// the engine's own that holds even for what was opened after its start.
func TestSecurityJobInheritsNothing(t *testing.T) {
	leak := func() int {
		fd, err := dupLeaking(0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	defer closeLeak(leak())
	r := newRig(t)
	if r.e.opt.Own {
		defer closeLeak(leak())
	}
	e := r.start(r.spec("echo up; sleep 100; :")) // the shell stays: a program that begins opens its libraries
	e.grown(messages.Merged, 0)
	names, err := listDir(kernel{}, unix.AT_FDCWD, procPath(await[messages.ProcessStarted](e).PID, "fd"))
	if slices.Sort(names); err != nil || strings.Join(names, " ") != "0 1 2" {
		t.Errorf("descriptors %v, %v", names, err)
	}
}

// A host may have inherited what is above its limit, or so much that not all can be closed
// in each child: jobs start, and have nothing of it.
func TestSecurityJobInheritsNothingAboveTheLimit(t *testing.T) {
	const inherits = "TROUPE_TEST_INHERITS"
	if os.Getenv(inherits) == "" {
		for _, limit := range []string{"96", "$(ulimit -n)"} {
			run := exec.Command("bash", "-c", `for fd in 87 88 200 900 1023 1024 3000; do
					if [[ $fd -lt $(ulimit -n) ]]; then eval "exec $fd</dev/null" || exit; fi
				done
				ulimit -n `+limit+`; exec "$0" "$@"`, fmt.Sprintf("/proc/%d/exe", os.Getpid()), "-test.run=^"+t.Name()+"$")
			run.Env = append(os.Environ(), inherits+"=1")
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("with the limit %s: %v\n%s", limit, err, out)
			}
		}
		return
	}
	r := newRig(t)
	e := r.start(r.spec("echo up; sleep 100; :"))
	e.grown(messages.Merged, 0)
	names, err := listDir(kernel{}, unix.AT_FDCWD, procPath(await[messages.ProcessStarted](e).PID, "fd"))
	if slices.Sort(names); err != nil || strings.Join(names, " ") != "0 1 2" {
		t.Errorf("descriptors %v, %v", names, err)
	}
}

func TestJobHasItsUmask(t *testing.T) {
	r := newRig(t)
	own, _ := r.run("umask")
	for _, mask := range []int{0o077, 0o022, 0, -1, 0o027} {
		s := r.spec("umask")
		s.Umask = mask
		e := r.start(s)
		e.over()
		want := fmt.Sprintf("%04o\n", mask)
		if mask < 0 {
			want = r.output(own, messages.Merged)
		}
		if got := r.output(e, messages.Merged); got != want {
			t.Errorf("umask %q, want %q", got, want)
		}
	}
}

func TestJobLeadsASession(t *testing.T) {
	r := newRig(t)
	e := r.start(r.spec("echo up; sleep 100"))
	e.grown(messages.Merged, 0)
	pid := await[messages.ProcessStarted](e).PID
	p, ok := statProc(kernel{}, pid)
	if !ok || p.sid != pid || p.pgid != pid {
		t.Errorf("%+v", p)
	}
	if p.start != await[messages.ProcessStarted](e).StartTime {
		t.Errorf("started at %d, said %d", p.start, await[messages.ProcessStarted](e).StartTime)
	}
}

// failing jobs, and what is said of each.
func TestBadInputJobCannotStart(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "echo hi", 0o644)
	odd := write("odd", "\x00\x01", 0o755)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	if err := errors.Join(os.Symlink("loop", filepath.Join(dir, "loop")), os.Mkdir(filepath.Join(dir, "locked"), 0)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*backends.Spec)
		code   messages.Code
		reason string
		shell  int
	}{
		"no such program":      {func(s *backends.Spec) { s.Argv = []string{"no-such-program"} }, messages.SpawnFailed, "ENOENT", 127},
		"in no open directory": {func(s *backends.Spec) { s.Env = []string{"PATH=" + dir + "/locked"} }, messages.SpawnFailed, "ENOENT", 127},
		"no such path":         {func(s *backends.Spec) { s.Argv = []string{"/no/such/program"} }, messages.SpawnFailed, "ENOENT", 127},
		"no such interpreter":  {func(s *backends.Spec) { s.Argv = []string{lost} }, messages.SpawnFailed, "ENOENT", 127},
		"not executable":       {func(s *backends.Spec) { s.Argv = []string{plain} }, messages.SpawnFailed, "EACCES", 126},
		"in PATH, not exec":    {func(s *backends.Spec) { s.Argv, s.Env = []string{"plain"}, []string{"PATH=/none:" + dir} }, messages.SpawnFailed, "EACCES", 126},
		"a directory":          {func(s *backends.Spec) { s.Argv = []string{dir} }, messages.SpawnFailed, "EACCES", 126},
		"no format":            {func(s *backends.Spec) { s.Argv = []string{odd} }, messages.SpawnFailed, "ENOEXEC", 126},
		"too large":            {func(s *backends.Spec) { s.Env = append(s.Env, "BIG="+strings.Repeat("x", 3<<20)) }, messages.SpawnFailed, "E2BIG", 126},
		"no directory":         {func(s *backends.Spec) { s.Dir = dir + "/none" }, messages.CwdNotFound, "ENOENT", 126},
		"directory is a file":  {func(s *backends.Spec) { s.Dir = plain }, messages.CwdNotDir, "ENOTDIR", 126},
		"directory is a loop":  {func(s *backends.Spec) { s.Dir = dir + "/loop" }, messages.CwdNotFound, "ELOOP", 126},
		"no program":           {func(s *backends.Spec) { s.Argv = nil }, messages.InvalidParams, "empty_command", 126},
		"a terminal too wide":  {func(s *backends.Spec) { s.Stdio.Terminal = messages.Terminal{Rows: 1, Cols: 65536} }, messages.InvalidParams, "invalid_size", 126},
		"a terminal, no rows":  {func(s *backends.Spec) { s.Stdio.Terminal = messages.Terminal{Cols: 80} }, messages.InvalidParams, "invalid_size", 126},
		"meta above its bound": {func(s *backends.Spec) { s.Meta = make([]byte, backends.MaxMeta+1) }, messages.TooLarge, "meta", 126},
	} {
		s := r.spec("echo hi")
		c.change(&s)
		e := r.start(s)
		f := await[messages.ProcessFailed](e)
		if f.Err.Code != c.code || f.Err.Reason != c.reason || f.Shell != c.shell || f.Seq == 0 || f.Err.Message == "" {
			t.Errorf("%s: %+v", name, f)
		}
		if got := words(e); got != "ProcessFailed" {
			t.Errorf("%s: facts %s", name, got)
		}
	}
}

func TestJobIsFoundInItsOwnPath(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "here"), []byte("#!/bin/bash\necho found $0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, program, want string }{
		{bin, "here", "found " + bin + "/here\n"},
		{"/none:bin", "here", "found bin/here\n"}, // relative to the job's directory
		{"/none", "bin/here", "found bin/here\n"},
		{"/none", "./bin/here", "found ./bin/here\n"},
	} {
		s := r.argv(c.program)
		s.Env, s.Dir = []string{"PATH=" + c.path}, dir
		e := r.start(s)
		if x := e.over(); x.Status != (messages.ExitStatus{}) || r.output(e, messages.Merged) != c.want {
			t.Errorf("%+v: %v, %q", c, x.Status, r.output(e, messages.Merged))
		}
	}
}

// A program that was looked up before is run from there, and is looked for
// again if it has moved meanwhile.
func TestJobIsFoundWhereItWas(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	script := []byte("#!/bin/bash\necho found ${0##*/}\n")
	if err := os.WriteFile(filepath.Join(dir, "here"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir + "/here", dir + "/moved/away"} {
		s := r.argv("here")
		s.Program, s.Env = at, []string{"PATH=/none:" + dir}
		e := r.start(s)
		if x := e.over(); x.Status != (messages.ExitStatus{}) || r.output(e, messages.Merged) != "found here\n" {
			t.Errorf("%s: %v, %q", at, x.Status, r.output(e, messages.Merged))
		}
	}
	s := r.argv("nowhere")
	s.Program, s.Env = dir+"/nowhere", []string{"PATH=/none"}
	e := r.start(s)
	if f := await[messages.ProcessFailed](e); f.Err.Reason != "ENOENT" || f.Shell != 127 {
		t.Errorf("%+v", f)
	}
}

// Completion is the exit of the main process, never the end of the output (F27, R-265, R-266).
func TestFaultJobIsDoneWhileItsOutputIsOpen(t *testing.T) {
	r := newRig(t)
	began := time.Now()
	e := r.start(r.spec("sleep 100 & echo hi"))
	x := await[messages.ProcessExited](e)
	if took := time.Since(began); took > patience { // the output is open for a hundred seconds
		t.Errorf("it took %s", took)
	}
	if !x.OutputOpen || x.Children != 1 || x.Sizes[0] != 3 {
		t.Errorf("%+v", x)
	}
	if has[messages.OutputClosed](e) || has[messages.TreeEnded](e) {
		t.Errorf("facts: %s", words(e))
	}
	e.proc.Stop(messages.Cause{By: messages.ByScope}, 0)
	e.over()
	if got := words(e); !strings.HasPrefix(got, "ProcessStarted ProcessExited ") {
		t.Errorf("facts: %s", got)
	}
}

// What a background process writes later is captured (F28), and the tree ends
// when it does, without anybody looking.
func TestFaultJobGoesOnInTheBackground(t *testing.T) {
	r := newRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	s := r.spec("(until [ -e " + gate + " ]; do sleep 0.02; done; echo late) & echo early")
	e := r.start(s)
	x := await[messages.ProcessExited](e)
	if x.Sizes[0] != 6 || !x.OutputOpen || x.Children == 0 {
		t.Errorf("%+v", x)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.over()
	if c := await[messages.OutputClosed](e); c.Sizes[0] != 11 || c.Seq <= x.Seq {
		t.Errorf("%+v", c)
	}
	if got := r.output(e, messages.Merged); got != "early\nlate\n" {
		t.Errorf("%q", got)
	}
}

// Every byte that the main process wrote is in the log before its exit is
// told (F29), whatever the size of the pipe, and though others write on.
func TestFaultJobIsDrained(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 4096, 60_000, 65_536, 300_000} {
		e := r.start(r.spec(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; sleep 100 & exit 7", n)))
		x := await[messages.ProcessExited](e)
		if x.Sizes[0] != int64(n) || x.Status.Code != 7 {
			t.Errorf("%d bytes: %+v", n, x)
		}
		e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
		e.over()
	}
	e := r.start(r.spec("yes & echo begun; exit 0"))
	await[messages.ProcessExited](e)
	e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
	e.over()
}

func TestJobRemovesItsScript(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, func(o *Options) { o.ScriptDir = func() (string, error) { return dir, nil } })
	s := r.argv("bash")
	s.Script = "echo from a file; sleep 100 &"
	e := r.start(s)
	await[messages.ProcessExited](e)
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("its script is left: %v, %v", left, err)
	}
	e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
	e.over()
}

func TestJobOnExitKill(t *testing.T) {
	r := newRig(t)
	s := r.spec("sleep 100 & sleep 100 & echo hi")
	s.OnExit = messages.KillChildren
	e := r.start(s)
	x := e.over()
	if x.Children != 2 || x.Cause != (messages.Cause{}) || x.Status != (messages.ExitStatus{}) {
		t.Errorf("%+v", x)
	}
	if end := await[messages.TreeEnded](e); len(end.Survivors) > 0 {
		t.Errorf("%+v", end)
	}
}

// Of two starts at once neither waits behind the other, as long as more may be under way.
func TestTwoStartsAtOnce(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	r := newRig(t, func(o *Options) {
		o.Spawners = 2
		o.Failpoint = func(name string) error {
			if name == pointFork && held.CompareAndSwap(true, false) {
				close(in)
				<-out
			}
			return nil
		}
	})
	r.run("true") // there is a worker now, and it waits
	q := &r.e.queue
	until(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.idle == 1
	})
	held.Store(true)
	a, b := r.start(r.spec("true")), r.start(r.spec("true"))
	within(t, in)
	func() {
		defer close(out) // or the engine does not end
		until(t, func() bool { return has[messages.ProcessStarted](a) || has[messages.ProcessStarted](b) })
	}()
	a.over()
	b.over()
}

// The last write of the main process is in the log before its exit is reported (F29), although
// both happen in the same moment.
func TestFaultTheLastWriteIsDrained(t *testing.T) {
	r := newRig(t)
	for n := range 200 {
		e := r.start(r.spec("sleep 100 & printf %0100d 0; exit 7"))
		if x := await[messages.ProcessExited](e); x.Sizes[0] != 100 {
			t.Fatalf("run %d: %d bytes", n, x.Sizes[0])
		}
		e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
		e.over()
	}
}
