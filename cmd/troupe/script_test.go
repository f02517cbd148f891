package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"troupe/internal/cli/connect"
	"troupe/internal/test/need"
)

// TestMain makes the test binary stand for the program: scripts and tests start
// it as "troupe", a process of its own.
func TestMain(m *testing.M) {
	startIgnoring()
	if filepath.Base(os.Args[0]) != "troupe" { // under nohup, programs would ignore it as we do
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if os.Getenv(lesseeVar) != "" {
		lessee()
		return
	}
	testscript.Main(m, map[string]func(){"troupe": main})
}

// TestScripts runs the program as a user would, one file of testdata for each
// promise.
func TestScripts(t *testing.T) {
	scripts(t, func(name string) bool { return !strings.HasPrefix(name, "bad") && !strings.HasPrefix(name, "security") })
}

// TestBadInputScripts runs those of what is refused.
func TestBadInputScripts(t *testing.T) {
	scripts(t, func(name string) bool { return strings.HasPrefix(name, "bad") })
}

// TestSecurityScripts runs the scripts about protection from other users.
func TestSecurityScripts(t *testing.T) {
	scripts(t, func(name string) bool { return strings.HasPrefix(name, "security") })
}

func scripts(t *testing.T, which func(name string) bool) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               slices.DeleteFunc(files, func(path string) bool { return !which(filepath.Base(path)) }),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "free" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return need.Free(), nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("LC_ALL", "C.UTF-8")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TROUPE_NO_DAEMON", "1") // until a script starts a daemon
			e.Setenv("XDG_RUNTIME_DIR", filepath.Join(e.WorkDir, ".run"))
			e.Values[daemonsKey] = daemons{}
			e.Defer(func() { endKeeper(filepath.Join(e.WorkDir, ".local/state/troupe")) })
			e.Defer(func() { endDaemon(e) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonIs, "gone": goneScript, "ends": endsScript, "mode": mode, "daemon": daemonScript, "until": until, "completes": completes,
		},
	})
}

// exits STATUS PROG ARG... runs a program and checks its exit status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// jsonIs PATH VALUE checks one field of the object that the last command wrote
// to stdout: the path joined by dots, the value as JSON, where a string
// needs no quotes.
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.ReadFile("stdout")
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	if d.More() || strings.Count(out, "\n") != 1 {
		ts.Fatalf("stdout has more than one object on one line")
	}
	for _, key := range strings.Split(args[0], ".") {
		m, ok := v.(map[string]any)
		if ok {
			v, ok = m[key]
		}
		if !ok {
			ts.Fatalf("there is no %s in it", args[0])
		}
	}
	got, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		ts.Check(err)
		got = string(b)
	}
	if len(args) == 1 {
		return // it is there
	}
	want := args[1]
	if strings.HasPrefix(want, `"`) {
		ts.Check(json.Unmarshal([]byte(want), &want))
	}
	if (got == want) == neg {
		ts.Fatalf("%s is %q, want %q", args[0], got, want)
	}
}

// goneScript is "gone FILE": it checks that no process lives whose id stands in the file.
func goneScript(ts *testscript.TestScript, neg bool, args []string) {
	pids := strings.Fields(ts.ReadFile(args[0]))
	if len(pids) == 0 {
		ts.Fatalf("%s names no process", args[0])
	}
	for _, pid := range pids {
		if alive(pid) != neg {
			words, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			ts.Fatalf("process %s (%s): alive is %v", pid, bytes.ReplaceAll(words, []byte{0}, []byte(" ")), !neg)
		}
	}
}

// endsScript is "ends FILE": it waits until the processes that the file names are gone,
// where the result of their command does not wait for that.
func endsScript(ts *testscript.TestScript, _ bool, args []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	pids := strings.Fields(ts.ReadFile(args[0]))
	for late := time.Now().Add(tooLong); slices.ContainsFunc(pids, alive) && time.Now().Before(late); {
		<-tick.C
	}
	goneScript(ts, false, args)
}

// alive reports whether a process runs. A process that has ended and was not reaped does
// not.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	after := b[bytes.LastIndexByte(b, ')')+1:]
	return !bytes.HasPrefix(bytes.TrimSpace(after), []byte("Z"))
}

// mode MODE FILE... checks the permissions of files.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
			ts.Fatalf("%s has mode %s", name, got)
		}
	}
}

// daemonScript is "daemon [FLAG...]": it starts troupe serve and waits until that
// is ready. The end of the script ends it.
func daemonScript(ts *testscript.TestScript, _ bool, args []string) {
	ready, told, err := os.Pipe()
	ts.Check(err)
	defer ready.Close()
	cmd := exec.Command("troupe", append([]string{"serve", "--ready-fd", "3"}, args...)...)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "TROUPE_SOCKET", "TROUPE_STATE", "TROUPE_CONFIG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	log, err := os.OpenFile(ts.MkAbs("serve.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	ts.Check(err)
	defer log.Close()
	cmd.Dir, cmd.Stderr, cmd.ExtraFiles = ts.MkAbs("."), log, []*os.File{told}
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if !cmd.ProcessState.Success() { // it may be why the script fails
			said, _ := os.ReadFile(log.Name())
			ts.Logf("the daemon: %v\n%s", cmd.ProcessState, said)
		}
	})
	ts.Check(told.Close())
	process, err := connect.ReadReport(ready, "serve.log")
	ts.Check(err)
	pid := strconv.Itoa(process)
	ts.Value(daemonsKey).(daemons)[pid] = ended
	ts.Setenv("DAEMON", pid)
	ts.Setenv("TROUPE_NO_DAEMON", "")
}

// daemons are those that a script has started, by process id: each is closed when
// it has ended.
type daemons map[string]chan struct{}

const daemonsKey = "daemons"

// endDaemon ends a daemon that a script has started by running something.
func endDaemon(e *testscript.Env) {
	endJobs(e.WorkDir, append(slices.Clone(e.Vars), "TROUPE_SOCKET=", "TROUPE_CONFIG="))
}

// completes WORD ARG... asks for the completion of a command line until WORD is in it: a
// machine with other work may not answer in the time that a shell waits.
func completes(ts *testscript.TestScript, _ bool, args []string) {
	for range 50 {
		ts.Check(ts.Exec("troupe", append([]string{"__complete"}, args[1:]...)...))
		if strings.HasPrefix(ts.ReadFile("stdout"), args[0]) {
			return
		}
	}
	ts.Fatalf("%s is not completed", args[0])
}

// until is "until PID": it waits for the end of a daemon.
func until(ts *testscript.TestScript, _ bool, args []string) {
	ended, ok := ts.Value(daemonsKey).(daemons)[args[0]]
	if !ok {
		ts.Fatalf("process %s is none of daemon", args[0])
	}
	select {
	case <-ended:
	case <-time.After(tooLong):
		ts.Fatalf("process %s lives", args[0])
	}
}
