package shell_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/backends/shell"
	"troupe/internal/test/need"
	"troupe/messages"
)

// kinds are the commands of the soak: a text, what it writes and its status.
var kinds = []struct {
	text, out string
	code      int
}{
	{"true", "", 0},
	{"false", "", 1},
	{"echo n%d", "n%d\n", 0},
	{"printf n%d", "n%d", 0},
	{"cat <<EOF\nn%d\nEOF", "n%d\n", 0},
	{"x=n%d; (exit 3)", "", 3},
	{"echo $? >&2; cd /tmp && echo n%d", "", -1},
}

// Thousands of commands through eight live shells: every status and every output is
// right, and nothing grows: no descriptor, no goroutine, no file, no memory.
func TestManyCommandsInFewShells(t *testing.T) {
	total := 4000
	if need.Soak() {
		total = 100_000
	}
	many(t, shell.Options{}, total)
}

// So it is on terminals.
func TestManyCommandsOnFewTerminals(t *testing.T) {
	total := 2000
	if need.Soak() {
		total = 50_000
	}
	many(t, onTerminals, total)
}

func many(t *testing.T, o shell.Options, total int) {
	const sessions = 8
	r := newRig(t, o)
	open := make([]*session, sessions)
	for i := range open {
		open[i] = r.open("bash")
		open[i].say("true")
	}
	round := func(n int) {
		var all sync.WaitGroup
		for i, s := range open {
			all.Go(func() {
				for k := range n {
					s.soak(t, i*n+k)
				}
			})
		}
		all.Wait()
	}
	round(total / sessions / 10) // what is kept for later is made
	before := standing(t, r)
	began := time.Now()
	round(total / sessions)
	took := time.Since(began)
	after := standing(t, r)
	t.Logf("%.0f commands a second; %+v before, %+v after", float64(total)/took.Seconds(), before, after)
	// What the last command of each shell had open may be about to be closed: a log
	// and the directory of its cgroup. A leak with one command in a hundred is more.
	if after.files > before.files || after.open > before.open+2*sessions || after.goroutines > before.goroutines+8 || after.heap > before.heap+8<<20 {
		t.Errorf("%+v became %+v", before, after)
	}
	for _, s := range open {
		s.close()
	}
}

func (s *session) soak(t *testing.T, n int) {
	kind := kinds[n%len(kinds)]
	fill := func(text string) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(n)) }
	run := s.start(fill(kind.text))
	f := run.over()
	out := s.plain(run.output(messages.Merged))
	if kind.code >= 0 && (f.Status != (messages.ExitStatus{Code: kind.code}) || out != fill(kind.out)) || kind.code < 0 && !strings.HasSuffix(out, fill("n%d\n")) {
		t.Errorf("%q ended with %+v and wrote %q", fill(kind.text), f.Status, out)
	}
	run.settle()
	if err := s.store.Remove(string(run.id)); err != nil {
		t.Error(err)
	}
}

// state is what may not grow.
type state struct{ files, open, goroutines, heap int }

func standing(t *testing.T, r *rig) (s state) {
	dir, err := r.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, d := range []string{"/", "/troupe-shell-*"} {
		files = append(files, glob(dir+d+"/*")...)
	}
	slices.Sort(files)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return state{len(files), len(fds), runtime.NumGoroutine(), int(m.HeapAlloc)}
}

func BenchmarkRoundTrip(b *testing.B) { roundTrips(b, shell.Options{}) }

func BenchmarkRoundTripOnTerminals(b *testing.B) { roundTrips(b, onTerminals) }

func roundTrips(b *testing.B, o shell.Options) {
	for _, name := range []string{"bash", "dash", "zsh"} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, o)
			s := r.open(name)
			s.say(":")
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				run := s.start(":")
				run.result()
				times = append(times, time.Since(began))
				run.settle()
				_ = s.store.Remove(string(run.id))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			s.close()
		})
	}
}
