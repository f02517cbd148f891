package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// fenceOf is a text that writes a fence with the nonce of its own command, as only the
// shell should.
const fenceOf = `printf '\033]133;D;%s;%s\a' 0 "$__troupe_n"; `

// What a command forges as the end of its output changes nothing: not where it ends, not
// its status, not what the next one has.
func TestForgedFences(t *testing.T) {
	flood := strings.Repeat("x", 70)
	for _, name := range []string{"bash", "dash", "zsh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			r := newRig(t, onTerminals)
			r.TB = t
			s := r.open(name)
			defer s.close()
			s.say("true")
			for text, want := range map[string]string{
				fenceOf + `echo behind; (exit 3)`:                                                   "behind\r\n",
				`echo before; ` + fenceOf + fenceOf + `(exit 3)`:                                    "before\r\n",
				fenceOf + `sleep 0.3; echo late; (exit 3)`:                                          "late\r\n",
				fenceOf + `yes ` + flood + ` | head -n 20000; (exit 3)`:                             flood + "\r\n",
				`printf '\033]133;D;0;'; (exit 3)`:                                                  "\x1b]133;D;0;",
				`printf '\033]133;D;0;%s' "$__troupe_n"; (exit 3)`:                                  "\x1b]133;D;0;",
				`printf '\033]133;D;3;0123456789abcdef\a\033]133;D;3;0123456789abcdef\a'; (exit 3)`: "\x1b]133;D;3;0123456789abcdef\a",
				`printf '\033'; (exit 3)`:                                                           "\x1b",
			} {
				out, f := s.say(text)
				if f.Status.Code != 3 || len(f.Flags) > 0 || !strings.HasSuffix(out, want) && !strings.HasPrefix(out, want) || int64(len(out)) != f.Sizes[messages.Merged] {
					t.Errorf("%.60q: %+v, %.100q", text, f, out)
				}
				if out, f := s.say("echo on"); out != "on\r\n" || f.Status.Code != 0 || len(f.Flags) > 0 {
					t.Errorf("behind %.60q: %+v, %q", text, f, out)
				}
			}
		})
	}
}

// Who asks for the growth of an output is told of none before what may be shown.
func TestNoCreditForAFence(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	run := s.start(`printf '\033]133;D;'; sleep 0.2; echo on`)
	await[messages.ProcessStarted](run.ear)
	run.proc.NotifyGrowth(messages.Merged, 0)
	f := run.over()
	const all = "\x1b]133;D;on\r\n"
	grew, _ := find[messages.OutputGrew](run.ear.all())
	if out := run.output(messages.Merged); out != all || grew.Size < int64(len("\x1b]133;D;o")) || f.Sizes[messages.Merged] != int64(len(out)) {
		t.Errorf("%q, %+v", out, run.ear.all())
	}
}

// A command whose end is not seen on the terminal is told of with what there is, soon.
func TestNoFence(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	s.say("true")
	// What the terminal makes of letters is not what was written.
	out, f := s.say(`stty olcuc; echo hi; (exit 4)`)
	if f.Status.Code != 4 || !slices.Equal(f.Flags, []messages.Flag{messages.FlagNoFence}) || !strings.HasPrefix(out, "HI\r\n") {
		t.Errorf("%+v, %q", f, out)
	}
	if out, f := s.say("echo on"); out != "on\r\n" || len(f.Flags) > 0 {
		t.Errorf("behind it: %+v, %q", f, out)
	}
}

// What is left in the background writes into the shell's own output between commands, and
// what it may have written into a command's is told.
func TestFaultBackgroundOutputOnATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	if out, f := s.say(`mkfifo a b c; (read x < a; echo late; echo > c; read x < b) & echo now`); !strings.Contains(out, "now\r\n") || !slices.Contains(f.Flags, messages.FlagBackground) {
		t.Fatalf("%+v, %q", f, out)
	}
	out, f := s.say(`echo > a; read x < c; echo end`)
	if !strings.Contains(out, "late\r\n") || !strings.Contains(out, "end\r\n") || !slices.Contains(f.Flags, messages.FlagBackground) {
		t.Errorf("%+v, %q", f, out)
	}
	s.say(`echo > b; wait`)
	if out, f := s.say(`echo alone`); out != "alone\r\n" || len(f.Flags) > 0 {
		t.Errorf("%+v, %q", f, out)
	}
}

// A flood from the background keeps no command from its end, seen or not.
func TestBackgroundFloodOnATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	s.say(`yes flood & echo begun`)
	for i := range 20 {
		out, f := s.say(fmt.Sprintf("echo mine %d; (exit %d)", i, i))
		if f.Status.Code != i || !strings.Contains(out, fmt.Sprintf("mine %d\r\n", i)) || slices.Contains(f.Flags, messages.FlagNoFence) {
			t.Fatalf("%d: %+v, %.200q", i, f, out)
		}
	}
	for range 5 {
		if _, f := s.say(`stty olcuc; (exit 4)`); f.Status.Code != 4 || !slices.Contains(f.Flags, messages.FlagNoFence) {
			t.Fatalf("no fence: %+v", f)
		}
	}
	s.say(`kill %1; wait`)
}

// What was typed for a command and not read is not the next one's, however much it was.
func TestTypedIsForOneCommand(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	s.say("true")
	for _, raw := range []string{"", "stty raw -echo; "} {
		run := s.start(raw + "sleep 0.1")
		for range 5 {
			run.proc.Do(backends.Input{Data: []byte(strings.Repeat("x\n", 25_000)), Raw: true})
		}
		run.over()
		next := s.start(`read -t 0.2 x; echo "[$x]"; read y; echo "[$y]"`)
		next.wrote("[]\r\n")
		next.proc.Do(backends.Input{Data: []byte("mine\n")})
		next.over()
		if out := next.output(messages.Merged); out != "[]\r\nmine\r\n[mine]\r\n" {
			t.Errorf("behind %q: %.200q", raw, out)
		}
	}
}

// A terminal that was stopped by a key keeps nobody from being ended, by an interrupt or by
// a kill, and the next command finds it going and has no output but its own.
func TestStoppedTerminal(t *testing.T) {
	for _, kind := range []string{"bash", "dash", "zsh"} {
		for _, grace := range []time.Duration{time.Minute, 0} {
			t.Run(fmt.Sprint(kind, " ", grace), func(t *testing.T) {
				needShell(t, kind)
				r := newRig(t, onTerminals)
				r.TB = t
				s := r.open(kind)
				defer s.close()
				for range 5 {
					run := s.start("echo ready; read x; while :; do echo more; done")
					run.wrote("ready\r\n")
					run.proc.Do(backends.Input{Data: []byte("\x13\n")})
					await[messages.InputWritten](run.ear)
					run.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, grace)
					if f := run.over(); slices.Contains(f.Flags, messages.FlagSessionEnded) {
						t.Errorf("%+v", f)
					}
					if out, f := s.say("echo on"); out != "on\r\n" || f.Status.Code != 0 {
						t.Errorf("behind it: %+v, %q", f, out)
					}
				}
			})
		}
	}
}

// So it is where the command is not stopped but interrupted, by a key.
func TestInterruptedByAKey(t *testing.T) {
	for _, kind := range []string{"bash", "dash", "zsh"} {
		t.Run(kind, func(t *testing.T) {
			needShell(t, kind)
			r := newRig(t, onTerminals)
			r.TB = t
			s := r.open(kind)
			defer s.close()
			for i := range 20 {
				run := s.start("echo ready; while :; do :; done")
				run.wrote("ready\r\n")
				run.proc.Do(backends.Input{Data: []byte(strings.Repeat("\x03", 1+i%3)), Raw: true})
				run.over()
				if out, f := s.say("echo on"); out != "on\r\n" || f.Status.Code != 0 {
					t.Errorf("behind it: %+v, %q", f, out)
				}
			}
		})
	}
}

// The size that a command asks for is its own; who asks for none has the session's.
func TestSizesOfATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash", func(p *backends.ExecutorSpec) { p.Terminal = messages.Terminal{Rows: 30, Cols: 90} })
	defer s.close()
	run := s.start(`stty size; read x; stty size`, func(c *backends.Command) { c.Stdio.Terminal = messages.Terminal{Rows: 11, Cols: 22} })
	run.wrote("11 22\r\n")
	run.proc.Do(backends.Resize{Size: messages.Terminal{Rows: 12, Cols: 23}})
	run.proc.Do(backends.Input{Data: []byte("\n")})
	run.over()
	if out := run.output(messages.Merged); out != "11 22\r\n\r\n12 23\r\n" {
		t.Errorf("%q", out)
	}
	if out, _ := s.say("stty size"); out != "30 90\r\n" {
		t.Errorf("%q", out)
	}
}

// A program that outlives its shell does not keep the end of its command back.
func TestShellDiesOnATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	s.say("cd /usr; export Y=2")
	out, f := s.say(`trap '' HUP; sh -c 'trap "" HUP; exec sleep 60' & head -c 100000 /dev/zero | tr '\0' x; kill -9 $$`)
	if f.Status.Signal != "KILL" || !slices.Contains(f.Flags, messages.FlagSessionEnded) || len(out) != 100_000 {
		t.Errorf("%+v, %d bytes", f, len(out))
	}
	if out, f := s.say(`echo $PWD $Y; test -t 0`); out != "/usr 2\r\n" || f.Status.Code != 0 {
		t.Errorf("behind it: %+v, %q", f, out)
	}
}

// A command whose log takes no more is ended, and the shell comes back.
func TestFullLogOnATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	s.say("X=1")
	run := s.start("echo ready; yes", func(c *backends.Command) { c.Log = spill.Plan{Quota: 100_000, Policy: spill.Pause} })
	await[messages.LogBlocked](run.ear)
	run.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 100*time.Millisecond)
	if f := run.over(); slices.Contains(f.Flags, messages.FlagSessionEnded) || f.Sizes[messages.Merged] != 100_000 {
		t.Errorf("%+v", f)
	}
	if out, f := s.say("echo on $X"); out != "on 1\r\n" || len(f.Flags) > 0 {
		t.Errorf("behind it: %+v, %.100q", f, out)
	}
	for _, policy := range []spill.Policy{spill.KeepHead, spill.Elide, spill.Kill} {
		out, f := s.say("yes | head -c 300000; (exit 3)", func(c *backends.Command) { c.Log = spill.Plan{Quota: 100_000, Policy: policy} })
		killed := policy == spill.Kill && f.Cause.By == messages.ByQuota
		if f.Status.Code != 3 && !killed || slices.Contains(f.Flags, messages.FlagSessionEnded) || len(out) < 100_000 {
			t.Errorf("%s: %+v, %d bytes", policy, f, len(out))
		}
		if out, f := s.say("echo on $X"); out != "on 1\r\n" || len(f.Flags) > 0 {
			t.Errorf("behind %s: %+v, %.100q", policy, f, out)
		}
	}
}

// Whenever a shell dies, each command has one end, and the next has a shell.
func TestShellDiesAtAnyTimeOnATerminal(t *testing.T) {
	r := newRig(t, onTerminals)
	s := r.open("bash")
	defer s.close()
	ended := 0
	for i := range 60 {
		s.say(fmt.Sprintf("(sleep 0.0%02d; kill -9 $$) &", i%20))
		for range 20 {
			f := s.start("echo some; true").over()
			if slices.Contains(f.Flags, messages.FlagSessionEnded) {
				ended++
			}
		}
	}
	t.Logf("%d commands ended with their shell", ended)
}

// What set -x tells of a bash is, on a terminal, too, what the user's commands do and a
// few words around them; and it stays on.
func TestTraceOnATerminal(t *testing.T) {
	s := newRig(t, onTerminals).open("bash")
	defer s.close()
	s.say("set -x")
	for range 2 {
		out, _ := s.say("echo hi")
		if !strings.Contains(out, "+ echo hi\r\nhi\r\n") || strings.Count(out, "\n") > 10 || strings.Contains(out, "printf") {
			t.Errorf("it wrote %q", out)
		}
	}
}
