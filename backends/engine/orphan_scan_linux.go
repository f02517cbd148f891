package engine

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// orphanScanner finds the orphans of jobs in a process that is their subreaper: its
// own children which it did not start. One look serves all who ask at the
// time, and looks keep their distance when they are dear: ten thousand jobs
// that end at once cost a few of them.
type orphanScanner struct {
	platform *platform

	mu      sync.Mutex
	queries []orphanQuery
	waits   map[*job]func() // want to hear that nothing is left
	stirred bool            // an orphan was reaped since the last look
	running bool
	closed  bool

	pace timeBudget // the loop's

	few   atomic.Int64  // living jobs at which a rest is over; negative: nobody rests
	fewer chan struct{} // there are no more than that; capacity 1
}

type orphanQuery struct {
	j    *job
	tell func(tops []proc)
}

// Looking may cost one part in scanShare of the time. What it has not taken it may take
// at once, up to scanBudget: some jobs that end together wait for nothing.
const (
	scanShare  = 5
	scanBudget = 20 * time.Millisecond
)

// restFor is the part of the jobs that lived at a look which may be left when it is no
// use to rest on: the next look is that much cheaper. When ten thousand are stopped, a
// look amid their ends takes 0.2 s, and one behind them 0.2 ms.
const restFor = 8

func newOrphanScanner(h *platform) *orphanScanner {
	w := &orphanScanner{platform: h, waits: make(map[*job]func()), pace: timeBudget{share: scanShare, most: scanBudget}, fewer: make(chan struct{}, 1)}
	w.few.Store(-1)
	return w
}

// ask tells the topmost orphans of a job, seen after this call.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, j)
}

// stir says that an orphan was reaped: its children may be ours now, or a job
// may have nothing left.
func (w *orphanScanner) stir() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stirred = true
	if len(w.waits) > 0 {
		w.call()
	}
}

// call sees to it that somebody looks. Called with mu.
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
			for j, f := range w.waits {
				waits[j] = f
			}
		}
		w.stirred = false
		if w.running = len(asks)+len(waits) > 0; !w.running {
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.platform.reaper.settled() // an exec that takes long is at nobody's cost
		alive, began := w.platform.reaper.count(), time.Now()
		found, err := w.look()
		now := time.Now()
		rest := w.pace.spend(now, now.Sub(began)) // what follows from it costs others
		if err != nil {                           // nobody is told of an end that nobody has seen
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

// rest pauses between two looks, or until no more than few jobs live; 0: it is not cut
// short, since what costs may be orphans. False is the end of the engine.
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

// lives hears how many jobs live still, when one has ended.
func (w *orphanScanner) lives(n int) {
	if int64(n) > w.few.Load() {
		return
	}
	select {
	case w.fewer <- struct{}{}:
	default:
	}
}

// blindPause is how long is waited when /proc could not be read, as for want of a
// descriptor.
const blindPause = 50 * time.Millisecond

// again keeps what was asked for the next look.
func (w *orphanScanner) again(asks []orphanQuery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stirred = true // for who waits
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

// errUnseen is what a look fails by that could not read of a process that is there.
var errUnseen = errors.New("a child of this process cannot be looked at")

// look finds the orphans that live, by job. Nobody's are under nil. An error says that
// somebody may be missing, or be another's.
func (w *orphanScanner) look() (found map[*job][]proc, failed error) {
	found = make(map[*job][]proc)
	all, failed := children(w.platform.sys, proc{pid: w.platform.self.pid})
	pids := w.platform.reaper.strays(all)
	var sessions map[int]*job
	for _, pid := range pids {
		p, ok := statProc(w.platform.sys, pid)
		if !ok && w.platform.sys.Kill(pid, 0) == nil {
			failed = errUnseen
		}
		if !ok || p.dead() {
			continue
		}
		j, err := w.tagOf(pid)
		if err != nil {
			failed = err
		}
		if j == nil {
			if sessions == nil {
				sessions = w.sessions()
			}
			j = w.guess(p, sessions)
		}
		found[j] = append(found[j], p)
	}
	return found, failed
}

// sessions are the jobs of which something may be left, by the session that
// their main process leads.
func (w *orphanScanner) sessions() map[int]*job {
	m := make(map[int]*job)
	for _, j := range w.platform.engine.all() {
		j.mu.Lock()
		alive := (j.phase == phaseRunning || j.phase == phaseExited && !j.treeGone) && j.command == nil
		j.mu.Unlock()
		if old := m[j.proc.pid]; alive && (old == nil || old.proc.start < j.proc.start) { // the number may be used again
			m[j.proc.pid] = j
		}
	}
	return m
}

// guess finds the job of an orphan without a tag: that of its session, or the
// only one there is, if nothing else could have started it.
func (w *orphanScanner) guess(p proc, sessions map[int]*job) *job {
	if j := sessions[p.sid]; j != nil {
		return j
	}
	if len(sessions) != 1 || w.platform.cgroups != nil {
		return nil
	}
	for _, j := range sessions {
		if j.proc.start <= p.start {
			return j
		}
	}
	return nil
}

// tagName is the variable by which an orphan is known, wherever it went: the
// jobs it descends from, outermost first, each behind its node.
const tagName = "TROUPE_TREE"

// maxTags bounds the names in the tag of jobs within jobs.
const maxTags = 32

// tagged is env with the tag of a job behind those of the jobs around it.
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

// outer is the tag of the jobs around, without the outermost job if there are
// too many.
func outer(tag string) string {
	ids := bytes.Split([]byte(tag), []byte(":"))
	if len(ids) >= maxTags {
		ids = ids[len(ids)-maxTags+2:]
	}
	return string(bytes.Join(ids, []byte(":"))) + ":"
}

// A process has no environment for a moment of its exec, and is asked again, with a
// pause of tagPause. One that has none at all is asked in vain.
const (
	tagTries = 4
	tagPause = time.Millisecond
)

// tagOf finds the job whose tag a process has; the innermost of ours. An error says that
// it could not be read.
func (w *orphanScanner) tagOf(pid int) (*job, error) {
	env, err := readFile(w.platform.sys, unix.AT_FDCWD, procPath(pid, "environ"))
	for try := 1; err == nil && len(env) == 0 && try < tagTries && w.platform.rest(tagPause); try++ {
		env, err = readFile(w.platform.sys, unix.AT_FDCWD, procPath(pid, "environ"))
	}
	if err != nil && !isGone(err) && err != unix.EACCES && err != unix.EPERM {
		return nil, err
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		tag, ok := bytes.CutPrefix(kv, []byte(tagName+"="))
		if !ok {
			continue
		}
		ids := bytes.Split(tag, []byte(":"))
		for i := len(ids) - 1; i >= 0; i-- {
			if j := w.platform.engine.find(messages.UID(ids[i])); j != nil {
				return j, nil
			}
		}
	}
	return nil, nil
}

// close ends every orphan that is nobody's, if nothing else is left, and
// answers who still asks.
func (w *orphanScanner) close(alone bool) []messages.Survivor {
	var left []messages.Survivor
	if alone {
		d := &subreaperTree{platform: w.platform}
		d.kill()
		left = survivorsOf(w.platform.sys, pidsOf(d.members()))
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
