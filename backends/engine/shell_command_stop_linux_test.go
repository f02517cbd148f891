package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// listens is a program that says which signal it got, and ends by it: one of those for
// which it has something to do.
func listens(traps string) string {
	return `sh -c '` + traps + `; echo ready; while :; do sleep 0.02; done'`
}

// The cause of a stop names the last signal that was sent to somebody: a stop in a live
// shell begins with INT, and goes on only with who is left.
func TestACauseInALiveShellSaysWhatWasSent(t *testing.T) {
	const (
		onINT  = `trap "echo got INT; exit 3" INT`
		onTERM = `trap "echo got TERM; exit 4" TERM`
	)
	for _, c := range []struct {
		name, text string
		grace      time.Duration
		signal     string
		says       string
		ends       bool // the shell with it
	}{
		{"it ends on INT", listens(onINT + "; " + onTERM), time.Minute, "INT", "got INT", false},
		{"the shell ignores TERM", "trap '' TERM; sh -c 'echo ready; exec sleep 60'", time.Minute, "INT", "", false},
		{"it ends on TERM", listens(`trap "" INT; ` + onTERM), time.Second, "TERM", "got TERM", false},
		{"it ends on KILL", listens(`trap "" INT TERM`), 200 * time.Millisecond, "KILL", "", false},
		{"it ends on KILL at once", listens(onINT + "; " + onTERM), 0, "KILL", "", false},
		{"the shell is at work", "echo ready; while :; do :; done", time.Minute, "INT", "", false},
		{"the shell is at work, without a grace", "echo ready; while :; do :; done", 0, "INT", "", false},
		{"the shell does not listen", "trap '' INT; echo ready; while :; do :; done", 0, "KILL", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
			s, _ := r.shell()
			e := r.start(r.in(s.ID, c.text))
			e.grown(messages.Merged, int64(len("ready")))
			e.proc.Stop(client(), c.grace)
			f := e.over()
			if f.Cause != (messages.Cause{By: messages.ByClient, Reason: "asked", Signal: c.signal}) {
				t.Errorf("its cause is %+v, want %s (%+v)", f.Cause, c.signal, f)
			}
			if out := r.output(e, messages.Merged); !strings.Contains(out, c.says) || c.says == "" && strings.Contains(out, "got") {
				t.Errorf("it says %q, want %q", out, c.says)
			}
			if ended := slices.Contains(f.Flags, messages.FlagSessionEnded); ended != c.ends {
				t.Errorf("the shell has ended: %v", ended)
			}
		})
	}
}

// What a shell has used is not known of any of its commands, also of that which ends it.
func TestTheUsageOfAShellIsNoCommands(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ScriptDir = o.Store.(interface{ Dir() (string, error) }).Dir })
	for _, last := range []string{"exit 5", "exec sh -c 'exit 5'", "kill -9 $$"} {
		s, e := r.shell()
		r.say(s.ID, "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done")
		if _, f := r.say(s.ID, last); f.Rusage != (messages.Rusage{}) || !slices.Contains(f.Flags, messages.FlagSessionEnded) {
			t.Errorf("%s: %+v", last, f)
		}
		if f := e.over(); f.Rusage.MaxRSS == 0 {
			t.Errorf("the shell: %+v", f)
		}
	}
}
