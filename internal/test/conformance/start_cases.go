package conformance

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func startCases() []testCase {
	return []testCase{
		{"order of facts", orderOfFacts, 0},
		{"a start happens once", startOnce, 0},
		{"exit codes", exitCodes, 0},
		{"signals are 128 and more", exitSignals, ownProcess},
		{"programs that cannot be executed", execFailures, ownProcess},
		{"a hundred at once", hundred, ownProcess},
	}
}

func orderOfFacts(b *bench) {
	before := time.Now()
	r := b.start("hello")
	f := r.over()
	if f.Status != (messages.ExitStatus{}) || f.Cause != (messages.Cause{}) || f.OutputOpen || f.Children != 0 || f.Sizes[messages.Merged] != 6 {
		b.Errorf("the result is %+v", f)
	}
	s, _ := await[messages.ProcessStarted](r.factRecorder)
	if s.PID <= 0 || s.StartTime == 0 || s.At.Before(before.Add(-time.Second)) || f.At.Before(s.At) || s.Isolation != b.Reach {
		b.Errorf("the start is %+v, want isolation %s", s, b.Reach)
	}
	if text := r.read(messages.Merged); text != "hello\n" {
		b.Errorf("it wrote %q", text)
	}
	r.quiet(50*time.Millisecond, func(messages.ProcessFact) bool { return true })
}

// startOnce checks that concurrent starts of one job start it once.
func startOnce(b *bench) {
	slow := programs()["slow"]
	if b.Terminals {
		slow = b.typed(slow)
	}
	c := backends.Command{ID: b.id(), Text: slow.Text, Dir: b.dir, Env: b.env(), Umask: -1}
	runs := make([]*run, 8)
	var wait sync.WaitGroup
	for i := range runs {
		r := &run{bench: b, command: c, factRecorder: newFactRecorder(b)}
		runs[i] = r
		wait.Go(func() { r.process = b.place.Start(c, r.facts) })
	}
	wait.Wait()
	last, err := b.adopt(b.place, c.ID)
	if err != nil {
		b.Fatal(err)
	}
	last.over()
	if text := last.read(messages.Merged); text != "ready\n1\n2\n3\n4\n5\n" {
		b.Errorf("it wrote %q", text)
	}
	pids := map[int]bool{}
	for _, r := range append(runs, last) {
		for _, f := range r.all() {
			if s, ok := f.(messages.ProcessStarted); ok {
				pids[s.PID] = true
			}
		}
	}
	if len(pids) != 1 {
		b.Errorf("%d processes were started", len(pids))
	}
}

func exitCodes(b *bench) {
	for program, code := range map[string]int{"hello": 0, "three": 3, "255": 255} {
		if f := b.start(program).over(); f.Status != (messages.ExitStatus{Code: code}) || f.Status.Shell() != code {
			b.Errorf("%s: %+v", program, f.Status)
		}
	}
}

func exitSignals(b *bench) {
	for program, want := range map[string]messages.ExitStatus{
		"kill self": {Signal: "KILL", Number: 9}, "term self": {Signal: "TERM", Number: 15}, "crash": {Signal: "SEGV", Number: 11},
	} {
		f := b.start(program).over()
		if f.Status != want || f.Status.Shell() != 128+want.Number || f.Cause != (messages.Cause{}) {
			b.Errorf("%s: %+v by %+v", program, f.Status, f.Cause)
		}
	}
}

func execFailures(b *bench) {
	for program, want := range map[string]struct {
		shell  int
		reason string
	}{
		"no file": {127, "ENOENT"}, "no program": {127, "ENOENT"}, "directory": {126, "EACCES"}, "no rights": {126, "EACCES"},
	} {
		r := b.start(program)
		f, _ := await[messages.ProcessFailed](r.factRecorder)
		if f.Shell != want.shell || f.Err.Code != messages.SpawnFailed || f.Err.Reason != want.reason || f.Err.Message == "" || f.At.IsZero() {
			b.Errorf("%s: %+v", program, f)
		}
		r.stop(messages.ByClient, 0)
		r.quiet(50*time.Millisecond, func(messages.ProcessFact) bool { return true })
		if n := len(r.all()); n != 1 {
			b.Errorf("%s: %s", program, show(r.all()))
		}
		r.process.Settle(f.Seq)
		if _, err := b.adopt(b.place, r.command.ID); !isError(err, messages.NotFound) {
			b.Errorf("%s: settled, and adopted with %v", program, err)
		}
	}
}

func hundred(b *bench) {
	runs := make([]*run, 100)
	for i := range runs {
		runs[i] = b.start([]string{"hello", "three"}[i%2])
	}
	for i, r := range runs {
		f := r.over()
		text := r.read(messages.Merged)
		if i%2 == 0 && (f.Status.Code != 0 || text != "hello\n") || i%2 == 1 && (f.Status.Code != 3 || text != "") {
			b.Errorf("job %d: %+v, %q", i, f.Status, text)
		}
	}
}
