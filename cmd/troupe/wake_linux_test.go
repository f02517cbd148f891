package main

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// waker is what a host has of troupe events -f --cursor: the lines of one program after the
// other, each of which is killed.
type waker struct {
	*mortal
	watcher *process
	read    chan struct{} // the lines of the watcher have been read

	mu    sync.Mutex
	lines []wakeLine
	last  string // line, as it was printed: an error, if the watcher ends by itself

	watchers int
	arrived  chan struct{} // one, as long as lines were added
}

// wakeLine is a printed end.
type wakeLine struct {
	watcher int
	seq     uint64
	job     string
}

// watches starts the nth watcher, as a plugin does.
func (w *waker) watches(n int) {
	w.t.Helper()
	p := w.beside("events", "-f", "--ends", "--background", "--json", "--cursor", "seen").start()
	w.watcher, w.read = p, make(chan struct{})
	go func(out *bufio.Reader, read chan struct{}) {
		defer close(read)
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				return // what has no line end was not printed
			}
			var e struct {
				Seq uint64
				Job struct{ UID string }
			}
			if json.Unmarshal([]byte(line), &e) != nil {
				e.Job.UID = line // which is no job of the test
			}
			w.mu.Lock()
			if w.last = line; e.Job.UID != "" {
				w.lines = append(w.lines, wakeLine{n, e.Seq, e.Job.UID})
			}
			w.mu.Unlock()
			select {
			case w.arrived <- struct{}{}:
			default:
			}
		}
	}(p.out, w.read)
}

// has waits until so many different ends were printed.
func (w *waker) has(n int) {
	w.t.Helper()
	late := time.After(tooLong)
	for {
		w.mu.Lock()
		jobs := map[string]bool{}
		for _, line := range w.lines {
			jobs[line.job] = true
		}
		w.mu.Unlock()
		if len(jobs) >= n {
			return
		}
		select {
		case <-w.arrived:
		case <-w.watcher.ended:
			<-w.read
			require.Contains(w.t, w.last, `"code":"not_found","reason":"daemon"`)
			w.watches(w.watchers) // it came while there was no daemon
		case <-late:
			w.t.Fatalf("%d of %d ends were printed", len(jobs), n)
		}
	}
}

// A host that follows troupe events with a cursor is woken by each end: 1,000 jobs end over 50
// kills of the daemon and the watcher. Each end is printed, in order. At
// most one is printed again after a kill, the last one.
func TestEachEndWakesAHost(t *testing.T) {
	t.Parallel()
	const jobs, batch = 1000, 20
	w := &waker{mortal: begins(t), arrived: make(chan struct{}, 1)}
	daemons := 1
	w.watchers = 1
	w.watches(w.watchers)
	for done := 0; done < jobs; done += batch {
		var all sync.WaitGroup
		for range batch {
			all.Go(func() {
				_, err := w.client.Run(t.Context(), messages.RunCommand{Scope: "wake", Mode: messages.ModeAsync, Program: messages.Program{Text: "exec sleep 0.0" + string(rune('1'+rand.IntN(9)))}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		if done%(2*batch) == 0 { // their ends come while there is no daemon
			w.killed()
			w.again()
			daemons++
		} else {
			w.has(done + rand.IntN(batch))
			w.watcher.send(syscall.SIGKILL)
			<-w.read
			<-w.watcher.ended
			w.watchers++
			w.watches(w.watchers)
		}
	}
	w.has(jobs)
	w.watcher.send(syscall.SIGINT)
	<-w.read
	w.judges(jobs)
	t.Logf("%d ends over %d daemons and %d watchers, %d lines", jobs, daemons, w.watchers, len(w.lines))
}

// judges holds the printed lines against the events of the daemon.
func (w *waker) judges(jobs int) {
	w.t.Helper()
	var want []wakeLine
	for e, err := range w.client.PastEvents(w.t.Context(), messages.Subscribe{Filter: messages.Filter{Scope: "wake", Ends: true}}) {
		require.NoError(w.t, err)
		want = append(want, wakeLine{seq: uint64(e.Seq), job: string(e.Job.UID)})
	}
	require.Len(w.t, want, jobs)
	next := 0
	for i, line := range w.lines {
		repeats := i > 0 && line.watcher != w.lines[i-1].watcher && line.seq == w.lines[i-1].seq
		if repeats {
			continue
		}
		if next == len(want) || line.seq != want[next].seq || line.job != want[next].job {
			w.t.Fatalf("line %d of %d is end %d of %s; before it came %v", i, len(w.lines), line.seq, line.job, w.lines[max(0, i-3):i])
		}
		next++
	}
	require.Equal(w.t, jobs, next)
}
