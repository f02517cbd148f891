package engine

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// counting defines counts: a process that prints its name, and that again for each TERM. It
// ends by KILL alone.
const counting = `counts() { trap "echo $1 TERM" TERM; echo $1 up; while :; do sleep 0.02; done; }; `

// Each process of a tree gets one TERM before KILL, wherever it stands.
func TestEachProcessGetsOneTERM(t *testing.T) {
	for name, text := range map[string]string{
		"main":                          `counts a`,
		"a child":                       `counts b & counts a`,
		"a group of job control":        `set -m; counts b & set +m; counts a`,
		"a process session":             `export -f counts; setsid bash -c "counts b" & counts a`,
		"an orphan in a session":        `export -f counts; (setsid bash -c "counts b" &); counts a`,
		"a child of a process session":  `export -f counts; setsid bash -c "counts c & counts b" & counts a`,
		"the first has ended":           `trap "exit 0" TERM; (trap "" HUP; counts b & counts c) & wait`,
		"the first has ended, sessions": `export -f counts; setsid bash -c "counts b" & trap "exit 0" TERM; wait`,
		"a child starts too late":       `trap "counts b & exit 0" TERM; counts a & echo up; wait`,
		"a session starts too late":     `export -f counts; trap "setsid bash -c 'counts b' & exit 0" TERM; counts a & echo up; wait`,
	} {
		for where, start := range map[string]func(*rig, string) *ear{"pipes": (*rig).up, "terminal": (*rig).onTerminal} {
			t.Run(name+", "+where, func(t *testing.T) {
				r := newRig(t)
				late := strings.HasSuffix(name, "too late")
				if strings.Contains(text, "setsid") && r.e.Features().Isolation == messages.Group {
					return // nothing reaches what has left the process session
				}
				if late && where == "terminal" {
					return // it hangs up as its main process ends
				}
				e := start(r, counting+text)
				var names []string
				for _, n := range []string{"a", "b", "c"} {
					if !strings.Contains(text, "counts "+n) {
						continue
					}
					names = append(names, n)
					if n == "a" || !late {
						r.says(e, n+" up")
					}
				}
				if late || strings.Contains(text, "set") { // some get theirs at 40 % of the grace
					e.proc.Stop(client(), 3*time.Second)
					for _, n := range names {
						r.says(e, n+" TERM")
					}
					e.proc.Stop(client(), 0)
				} else {
					e.proc.Stop(client(), 800*time.Millisecond)
				}
				e.over()
				out := r.output(e, messages.Merged)
				for _, n := range names {
					if got := strings.Count(out, n+" TERM"); got != 1 {
						t.Errorf("%s got TERM %d times: %q", n, got, out)
					}
				}
			})
		}
	}
}

// A cleanup that needs more than 40 % of the grace gets its time, whichever process runs it
// and whatever it starts for it.
func TestACleanupIsNotCut(t *testing.T) {
	const slow = `echo begun; sleep 1 && echo cleaned; exit 4`
	for name, text := range map[string]string{
		"main":                   `trap '` + slow + `' TERM; echo up; while :; do sleep 0.01; done`,
		"main waits for a child": `trap '` + slow + `' TERM; sleep 100 & echo up; wait`,
		"with job control":       `set -m; trap '` + slow + `' TERM; echo up; while :; do sleep 0.01; done`,
		"a session of its own":   `trap 'setsid -w sh -c "` + strings.ReplaceAll(slow, "exit 4", "exit 0") + `"; exit 4' TERM; echo up; while :; do sleep 0.01; done`,
		"in a child":             `trap : TERM; (trap '` + slow + `' TERM; echo up; while :; do sleep 0.01; done) & wait; wait; exit 4`,
		"beside a session":       `setsid sleep 100 & trap '` + slow + `' TERM; echo up; while :; do sleep 0.01; done`,
	} {
		for where, start := range map[string]func(*rig, string) *ear{"pipes": (*rig).up, "terminal": (*rig).onTerminal} {
			t.Run(name+", "+where, func(t *testing.T) {
				r := newRig(t)
				if strings.HasPrefix(text, "setsid") && r.e.Features().Isolation == messages.Group {
					return // nothing reaches what has left the process session
				}
				e := start(r, text)
				r.says(e, "up")
				e.proc.Stop(client(), 2*time.Second)
				x := e.over()
				if out := r.output(e, messages.Merged); x.Status.Code != 4 || strings.Count(out, "begun") != 1 || !strings.Contains(out, "cleaned") {
					t.Errorf("%s: it ended with %+v and printed %s", name, x.Status, strconv.Quote(out))
				}
			})
		}
	}
}
