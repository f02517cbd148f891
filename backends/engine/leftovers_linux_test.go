package engine

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// What a dead node has left is told by its name in the tag; nobody is ended by a
// name that is not unique, or by one who descends from the same node.
func TestFaultOnlyWhatIsTaggedIsEnded(t *testing.T) {
	dead, other := fmt.Sprintf("DEAD%022d", os.Getpid()), fmt.Sprintf("LIVE%022d", os.Getpid()) // the other modes run beside
	r := newRig(t)
	left := func(tag string) *ear {
		s := r.spec("echo up; read x") // no exec, in which it has no environment for a moment
		s.Stdio.Stdin = messages.StdinPipe
		s.Env = append(s.Env, tag)
		e := r.start(s)
		e.grown(messages.Merged, 0)
		return e
	}
	theirs, beside := left("TROUPE_TREE="+other+":J:"+dead+":J"), left("NOT_TROUPE_TREE="+dead+":J")
	r.e.KillLeftovers("J")
	t.Setenv(tagName, dead+":K")
	if r.e.KillLeftovers(dead) {
		t.Error("it is among them, and says that nothing is left")
	}
	for _, e := range []*ear{theirs, beside} {
		if len(r.e.host.remains(dead)) == 0 || has[messages.ProcessExited](e) {
			t.Fatalf("%s was ended", e.id)
		}
	}
	t.Setenv(tagName, other+":K")
	if !r.e.KillLeftovers(dead) {
		t.Error("something is left")
	}
	if x := theirs.over(); x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
	if has[messages.ProcessExited](beside) {
		t.Error("an untagged process was ended")
	}
}

// hiding shows the environment of no process as often as it says, as if all were
// in an exec, and lets nobody be signalled while it shields them.
type hiding struct {
	kernel
	looks  atomic.Int32 // that see nothing
	shield atomic.Bool
}

func (h *hiding) OpenAt(dir int, path string, flags int) (int, error) {
	switch {
	case path == "/proc" && h.looks.Load() >= 0:
		h.looks.Add(-1)
	case strings.HasSuffix(path, "/environ") && h.looks.Load() >= 0:
		path = os.DevNull
	}
	return h.kernel.OpenAt(dir, path, flags)
}

func (h *hiding) PidfdOpen(pid int) (int, error) {
	if h.shield.Load() {
		return -1, unix.EMFILE
	}
	return h.kernel.PidfdOpen(pid)
}

// A process without an environment is not gone, and who could not be ended is told
// of.
func TestFaultRemainsAreLookedForTwice(t *testing.T) {
	dead := fmt.Sprintf("HIDE%022d", os.Getpid())
	sys := &hiding{}
	sys.looks.Store(-1)
	r := newRig(t, func(o *Options) { o.Sys = sys })
	s := r.spec("echo up; read x")
	s.Stdio.Stdin, s.Env = messages.StdinPipe, append(s.Env, "TROUPE_TREE="+dead+":J")
	e := r.start(s)
	e.grown(messages.Merged, 0)

	sys.shield.Store(true)
	if r.e.KillLeftovers(dead) {
		t.Error("it lives, and nothing is said to be left")
	}
	sys.shield.Store(false)
	sys.looks.Store(1)
	if !r.e.KillLeftovers(dead) {
		t.Error("something is left")
	}
	if x := e.over(); x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
}
