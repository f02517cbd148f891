package engine

import (
	"fmt"
	"testing"

	"troupe/messages"
)

func names(e *ear) string {
	var s string
	for _, f := range e.all() {
		s += fmt.Sprintf("%T ", f)[len("messages."):]
	}
	return s
}

func TestJobRunsToItsEnd(t *testing.T) {
	r := newRig(t)
	e, x := r.run("echo hi; exit 3")
	if x.Status != (messages.ExitStatus{Code: 3}) || x.Cause != (messages.Cause{}) || x.OutputOpen || x.Children != 0 {
		t.Errorf("%+v", x)
	}
	if got := r.output(e, messages.Merged); got != "hi\n" {
		t.Errorf("output %q", got)
	}
	if x.Sizes[messages.Merged] != 3 {
		t.Errorf("sizes %v", x.Sizes)
	}
	if got := names(e); got != "ProcessStarted MainExited ProcessExited OutputClosed TreeEnded " {
		t.Errorf("facts: %s", got)
	}
}

func TestJobIsStopped(t *testing.T) {
	r := newRig(t)
	e := r.start(r.spec("echo up; sleep 100"))
	e.grown(messages.Merged, 0)
	e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
	x := e.over()
	if x.Status.Signal != "KILL" || x.Cause.By != messages.ByClient || x.Cause.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
}
