package engine

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
)

// live reads the live state of a job.
func (r *rig) live(e *ear) messages.LiveState {
	r.t.Helper()
	all := r.e.ReadLive(r.t.Context(), []messages.UID{"unknown", e.id})
	now, read := all[e.id]
	if !read || len(all) != 1 {
		r.t.Fatalf("of %s: %+v", e.id, all)
	}
	return now
}

// becomes reads the live state of a job until it is as it should be: the kernel has no event for it.
func (r *rig) becomes(e *ear, what string, is func(messages.LiveState) bool) messages.LiveState {
	r.t.Helper()
	for limit := time.Now().Add(patience); ; {
		now := r.live(e)
		if is(now) {
			return now
		}
		if time.Now().After(limit) {
			r.t.Fatalf("%s is never so: %s; %+v", e.id, what, now)
		}
	}
}

func awaiting(a messages.Awaiting) func(messages.LiveState) bool {
	return func(now messages.LiveState) bool { return now.Awaiting == a }
}

// A job that waits for input or a secret is seen when it is asked for, and nothing is reported of it:
// no client has asked for reports.
func TestLiveStateOfReaders(t *testing.T) {
	eachReader(t, func(r *rig, e *ear) {
		await[messages.ProcessStarted](e)
		r.becomes(e, "it waits for input", awaiting(messages.AwaitsInput))
		e.proc.Do(backends.Input{Data: []byte("hi\n")})
	}, func(r *rig, e *ear) {
		if has[messages.InputWaiting](e) {
			r.t.Errorf("heard %+v", e.all())
		}
	})
	for name, c := range map[string]struct {
		text string
		want messages.Awaiting
	}{
		"terminal": {"read x; echo got $x", messages.AwaitsInput},
		"password": {"read -s x; echo $x", messages.AwaitsSecret},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			e := r.onTerminal(c.text)
			await[messages.ProcessStarted](e)
			r.becomes(e, "it waits", awaiting(c.want))
			e.types("hello\n")
			e.over()
		})
	}
}

// A job that sleeps waits for nothing, nor does one that has closed its input. Nothing is known of
// one that has no input.
func TestLiveStateOfOthers(t *testing.T) {
	r := newRig(t)
	asleep, none := r.fed("echo up; sleep 600; true"), r.up("echo up; sleep 600; true")
	asleep.grown(messages.Merged, 0)
	shut := r.fed("exec 0<&-; echo up; sleep 600; true")
	shut.grown(messages.Merged, 0)
	for e, want := range map[*ear]messages.Awaiting{asleep: messages.AwaitsNothing, none: "", shut: messages.AwaitsNothing} {
		if now := r.live(e); now.Awaiting != want {
			t.Errorf("%s: %+v, want %q", e.id, now, want)
		}
	}
	for _, e := range []*ear{asleep, none, shut} {
		e.proc.Stop(client(), 0)
		e.over()
	}
}

// Where the kernel does not show what processes do, nothing is said of it.
func TestLiveStateUnseen(t *testing.T) {
	r := newRig(t, hides(&shy{hidden: []string{"/syscall", "/wchan"}}))
	hidden := r.fed("exec cat")
	await[messages.ProcessStarted](hidden)
	r.becomes(hidden, "its state is unknown", awaiting(""))
	hidden.proc.Do(backends.CloseInput{})
	hidden.over()
}

// The processes of a job are counted, with their memory and CPU time, and with those that its main
// process has left.
func TestLiveStateCountsProcesses(t *testing.T) {
	r := newRig(t)
	e := r.fed("sleep 600 & sleep 600 & x=; for i in {1..300000}; do x=$i; done; echo up; read y; true")
	e.grown(messages.Merged, 0)
	now := r.becomes(e, "three processes", func(now messages.LiveState) bool { return now.Processes == 3 })
	if now.Memory < 1<<20 || now.CPU < 50*time.Millisecond || now.Ports == nil || len(now.Ports) > 0 {
		t.Errorf("%+v", now)
	}
	e.proc.Stop(client(), 0)
	e.over()
	if all := r.e.ReadLive(t.Context(), []messages.UID{e.id}); len(all) > 0 {
		t.Errorf("after the end: %+v", all)
	}

	e = r.start(r.spec("sleep 600 > /dev/null 2>&1 & exit 0"))
	await[messages.ProcessExited](e)
	leftover := func(now messages.LiveState) bool { return now.Processes == 1 && now.Memory > 0 } // none in its exec
	if now := r.becomes(e, "a leftover", leftover); now.Awaiting != "" {
		t.Errorf("the leftover: %+v", now)
	}
	e.proc.Stop(client(), 0)
	await[messages.TreeEnded](e)
}

// listener is a program that listens on a free port of each kind, and prints their numbers.
const listener = `exec python3 -c '
import socket, sys
a, b = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0)); a.listen(); b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1], flush=True); sys.stdin.read()'`

// The ports on which a process of a job listens are read, and not those of other jobs.
func TestLiveStateHasPorts(t *testing.T) {
	need.Program(t, "python3")
	r := newRig(t)
	e, other := r.fed("bash -c '"+strings.ReplaceAll(listener, "'", `'\''`)+"'; true"), r.up("echo up; sleep 600; true")
	e.grown(messages.Merged, 0)
	ports := strings.Fields(r.output(e, messages.Merged))
	var got []string
	for _, p := range r.live(e).Ports {
		got = append(got, string(p.Protocol)+" "+p.Address+" "+strconv.Itoa(p.Port))
	}
	if len(ports) != 2 {
		t.Fatalf("it printed %q", ports)
	}
	if want := []string{"tcp 127.0.0.1 " + ports[0], "udp 127.0.0.1 " + ports[1]}; strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("%v, want %v", got, want)
	}
	if now := r.live(other); now.Ports == nil || len(now.Ports) > 0 {
		t.Errorf("the other job: %+v", now)
	}
	e.proc.Do(backends.CloseInput{})
	e.over()
	other.proc.Stop(client(), 0)
	other.over()
}

// A command in a live shell has the processes beside the shell, which may be the reader.
func TestLiveStateInALiveShell(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	s, shell := r.shell()
	spec := r.in(s.ID, "sleep 600 & echo up; read x; echo got $x; kill $!")
	spec.Stdio.Stdin = messages.StdinPipe
	e := r.start(spec)
	e.grown(messages.Merged, 0)
	now := r.becomes(e, "it waits for input", awaiting(messages.AwaitsInput))
	if now.Processes != 1 {
		t.Errorf("%+v", now)
	}
	e.proc.Do(backends.Input{Data: []byte("hi\n")})
	e.over()
	shell.proc.Stop(client(), 0)
	shell.over()
}

// The states of many jobs come together, and none of them after the end of the time.
func TestLiveStatesOfMany(t *testing.T) {
	r := newRig(t)
	var ids []messages.UID
	var all []*ear
	for range 40 {
		e := r.fed("echo up; read x; true")
		all, ids = append(all, e), append(ids, e.id)
	}
	for _, e := range all {
		e.grown(messages.Merged, 0)
		r.becomes(e, "it waits for input", awaiting(messages.AwaitsInput))
	}
	now := r.e.ReadLive(t.Context(), ids)
	for _, id := range ids {
		if state, read := now[id]; !read || state.Awaiting != messages.AwaitsInput || state.Processes != 1 || state.Ports == nil {
			t.Errorf("%s: %+v", id, state)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if now := r.e.ReadLive(over, ids); len(now) > 0 {
		t.Errorf("after the time: %+v", now)
	}
	for _, e := range all {
		e.nod()
		e.over()
	}
}
