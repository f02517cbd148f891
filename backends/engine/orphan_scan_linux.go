package engine

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// orphanScanner finds orphans: children of this subreaper that it did not start. One
// scan answers all waiting queries. Expensive scans are spaced out: ten thousand ends
// at once cost a few.
type orphanScanner struct {
	platform *platform
	escapees *escapees

	mu      sync.Mutex
	queries []orphanQuery
	waits   map[*job]func() // calls for jobs whose orphans have ended
	stirred bool            // an orphan was reaped since the last scan
	running bool
	closed  bool

	pace timeBudget // of the loop

	few   atomic.Int64  // number of live jobs that ends a pause; negative: no pause
	fewer chan struct{} // that number is reached; capacity 1
}

// orphanQuery is a request for the orphans of a job.
type orphanQuery struct {
	j    *job
	tell func(tops []proc)
}

// Scans may use one part in scanShare of the time. Unused time accumulates up to scanBudget,
// so that a few jobs that end together do not wait.
const (
	scanShare  = 5
	scanBudget = 20 * time.Millisecond
)

// restFor is the part of the jobs alive at a scan at which a pause ends early: the next
// scan is that much cheaper. When ten thousand jobs are stopped, a scan amid their ends
// takes 0.2 s, and one after them 0.2 ms.
const restFor = 8

func newOrphanScanner(h *platform) *orphanScanner {
	w := &orphanScanner{platform: h, escapees: newEscapees(h), waits: make(map[*job]func()), pace: timeBudget{share: scanShare, most: scanBudget}, fewer: make(chan struct{}, 1)}
	w.few.Store(-1)
	return w
}

// ask calls tell with the topmost orphans of a job, found after this call.
func (w *orphanScanner) ask(j *job, tell func([]proc)) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		w.platform.engine.run(j, func() { tell(nil) })
		return
	}
	w.queries = append(w.queries, orphanQuery{j, tell})
	w.call()
	w.mu.Unlock()
}

// wait calls empty, once, when no orphan of the job is left.
func (w *orphanScanner) wait(j *job, empty func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits[j] = empty
	w.stirred = true // it may have happened already
	w.call()
}

func (w *orphanScanner) forget(j *job) {
	w.escapees.forget(j)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, j)
}

// stir records that an orphan was reaped: its children may be orphans now, or a job may
// have none left.
func (w *orphanScanner) stir(pid int) {
	if !w.escapees.reap(pid) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stirred = true
	if len(w.waits) > 0 {
		w.call()
	}
}

// call starts the loop if it does not run. The caller holds mu.
func (w *orphanScanner) call() {
	if !w.running && !w.closed {
		w.running = true
		w.platform.engine.background(w.loop)
	}
}

func (w *orphanScanner) loop() {
	for {
		w.mu.Lock()
		asks, waits := w.queries, map[*job]func(){}
		w.queries = nil
		if w.stirred {
			maps.Copy(waits, w.waits)
		}
		w.stirred = false
		if w.running = len(asks)+len(waits) > 0; !w.running {
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.platform.reaper.settled() // a slow exec does not count for the pace
		alive, began := w.platform.reaper.count(), time.Now()
		found, err := w.look()
		now := time.Now()
		rest := w.pace.spend(now, now.Sub(began)) // without the consequences of the scan
		if err != nil {                           // an unseen end must not be reported
			w.again(asks)
			if !w.platform.rest(max(rest, blindPause)) {
				return
			}
			continue
		}
		for _, a := range asks {
			tellOrphans(a, found[a.j])
		}
		for j, empty := range waits {
			if len(found[j]) == 0 && w.taken(j) {
				w.platform.engine.run(j, empty)
			}
		}
		if rest > 0 && !w.rest(rest, alive/restFor) {
			return
		}
	}
}

// rest pauses for d, or until at most few jobs live; few 0: for all of d, since live
// orphans may be the cost. It returns false when the engine ends.
func (w *orphanScanner) rest(d time.Duration, few int) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.fewer: // of an earlier rest
	default:
	}
	if few > 0 {
		w.few.Store(int64(few))
		defer w.few.Store(-1)
		w.lives(w.platform.reaper.count()) // they may have ended meanwhile
	}
	select {
	case <-t.C:
	case <-w.fewer:
		w.pace.forgive()
	case <-w.platform.engine.done:
		return false
	}
	return true
}

// lives receives the number of live jobs when one has ended.
func (w *orphanScanner) lives(n int) {
	if int64(n) > w.few.Load() {
		return
	}
	select {
	case w.fewer <- struct{}{}:
	default:
	}
}

// blindPause is the wait after /proc could not be read, as without a descriptor.
const blindPause = 50 * time.Millisecond

// again keeps queries for the next scan.
func (w *orphanScanner) again(asks []orphanQuery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stirred = true // for waits
	if !w.closed {
		w.queries = append(asks, w.queries...)
		return
	}
	for _, a := range asks {
		w.platform.engine.run(a.j, func() { a.tell(nil) })
	}
}

func tellOrphans(a orphanQuery, tops []proc) {
	defer a.j.guard()
	a.tell(tops)
}

func (w *orphanScanner) taken(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.waits[j]
	delete(w.waits, j)
	return ok
}

// tagName is the variable that identifies orphans wherever they moved: the jobs they
// descend from, outermost first, each after its node.
const tagName = "TROUPE_TREE"

// maxTags bounds the names in the tag of nested jobs.
const maxTags = 32

// tagged returns env with the job's tag appended to those of the enclosing jobs.
func tagged(env []string, node string, id messages.UID) []string {
	out := make([]string, 0, len(env)+1)
	tag := node + ":" + string(id)
	for _, kv := range env {
		if len(kv) > len(tagName) && kv[:len(tagName)+1] == tagName+"=" {
			tag = outer(kv[len(tagName)+1:]) + tag
			continue
		}
		out = append(out, kv)
	}
	return append(out, tagName+"="+tag)
}

// outer returns the tag of the enclosing jobs, without the outermost if there are too
// many.
func outer(tag string) string {
	ids := bytes.Split([]byte(tag), []byte(":"))
	if len(ids) >= maxTags {
		ids = ids[len(ids)-maxTags+2:]
	}
	return string(bytes.Join(ids, []byte(":"))) + ":"
}

// An exec leaves a process without arguments and environment for a moment, which is long on a
// busy machine. The process is looked at again, so often in one scan: it can also remove both
// itself.
const (
	execLooks = 250
	execPause = time.Millisecond
)

// environmentOf reads the environment of a process that is not in an exec.
func (w *orphanScanner) environmentOf(pid int, looks *int) ([]byte, error) {
	for {
		env, err := readFile(w.platform.sys, unix.AT_FDCWD, procPath(pid, "environ"))
		if err != nil || len(env) > 0 {
			return env, err
		}
		args, err := readFile(w.platform.sys, unix.AT_FDCWD, procPath(pid, "cmdline"))
		if err != nil || len(args) > 0 { // the exec may have ended in between
			return readFile(w.platform.sys, unix.AT_FDCWD, procPath(pid, "environ"))
		}
		if *looks--; *looks < 0 || !w.platform.rest(execPause) {
			return nil, nil
		}
	}
}

// tagOf returns the innermost job in a process's tag. An error means that the tag could
// not be read. looks bounds the waits for an exec.
func (w *orphanScanner) tagOf(pid int, looks *int) (*job, error) {
	env, err := w.environmentOf(pid, looks)
	if err != nil && !isGone(err) && err != unix.EACCES && err != unix.EPERM {
		return nil, err
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		tag, ok := bytes.CutPrefix(kv, []byte(tagName+"="))
		if !ok {
			continue
		}
		ids := bytes.Split(tag, []byte(":"))
		for _, id := range slices.Backward(ids) {
			if j := w.platform.engine.find(messages.UID(id)); j != nil {
				return j, nil
			}
		}
	}
	return nil, nil
}

// close kills the orphans of no job, if alone is set, and answers the waiting queries.
func (w *orphanScanner) close(alone bool) []messages.Survivor {
	var left []messages.Survivor
	if alone {
		d := &subreaperTree{platform: w.platform}
		d.kill()
		left = survivorsOf(w.platform.sys, slices.DeleteFunc(pidsOf(d.members()), w.platform.ends))
	}
	w.mu.Lock()
	asks := w.queries
	w.queries, w.closed = nil, true
	w.mu.Unlock()
	for _, a := range asks {
		tellOrphans(a, nil)
	}
	return left
}

var _ backends.Engine = (*Local)(nil)
