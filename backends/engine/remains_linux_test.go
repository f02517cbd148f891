package engine

import (
	"fmt"
	"os"
	"testing"

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
	r.e.EndRemains("J")
	t.Setenv(tagName, dead+":K")
	r.e.EndRemains(dead)
	for _, e := range []*ear{theirs, beside} {
		if len(r.e.host.remains(dead)) == 0 || has[messages.ProcessExited](e) {
			t.Fatalf("%s was ended", e.id)
		}
	}
	t.Setenv(tagName, other+":K")
	r.e.EndRemains(dead)
	if x := theirs.over(); x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
	if has[messages.ProcessExited](beside) {
		t.Error("an untagged process was ended")
	}
}
