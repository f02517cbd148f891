package engine

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// inputWatch detects jobs that wait for input. The kernel has no event for that, so it
// probes the jobs that clients ask about. A waiting job is probed until it no longer
// waits.
type inputWatch struct {
	h *platform

	mu      sync.Mutex
	jobs    map[*job]*inputQuery
	running bool
	wake    chan struct{} // a probe is due sooner; capacity 1
}

// inputQuery is the state of one watched job.
type inputQuery struct {
	until time.Time // no client asked for longer
	next  time.Time // next probe
	pause time.Duration
	dues  []*answer // replies to requests since the last probe
}

// Pauses between two probes of a job. All probes together may use one part in awaitShare of
// one CPU.
const (
	awaitFirst = 10 * time.Millisecond
	awaitMost  = 250 * time.Millisecond
	awaitIdle  = 10 * time.Second // while it waits and no client asks
	awaitShare = 10
)

func newAwaits(h *platform) *inputWatch {
	return &inputWatch{h: h, jobs: make(map[*job]*inputQuery), wake: make(chan struct{}, 1)}
}

// awaitInput probes the job for span. It sends the reply after the first probe.
func (h *platform) awaitInput(j *job, span time.Duration, to *answer) {
	if h.reads() == "" {
		j.answer(to, unseeable("cannot detect whether a job waits for input on this machine"))
		return
	}
	w := h.inputWatch
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.jobs[j]
	if i == nil {
		i = &inputQuery{}
		w.jobs[j] = i
	}
	if now.After(i.until) { // while a client asks, probes are frequent enough
		i.next, i.pause = now, awaitFirst
	}
	if until := now.Add(span); until.After(i.until) {
		i.until = until
	}
	i.dues = append(i.dues, to)
	i.next = now
	w.call()
}

func unseeable(text string) messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{
		Code: messages.Unsupported, Reason: "input", Message: text, Hint: "wait for a pattern that the job writes when it asks",
	}}
}

// soon probes a watched job again that was given input.
func (w *inputWatch) soon(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.jobs[j]; i != nil {
		i.next, i.pause = time.Now().Add(awaitFirst), awaitFirst
		w.call()
	}
}

// call starts the loop if it does not run, and wakes it. The caller holds mu.
func (w *inputWatch) call() {
	if !w.running {
		w.running = true
		w.h.engine.background(w.loop)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *inputWatch) loop() {
	for {
		due, wait, some := w.due(time.Now())
		if !some {
			return
		}
		for _, j := range due {
			began := time.Now()
			w.look(j)
			if !w.h.rest((awaitShare - 1) * time.Since(began)) {
				return
			}
		}
		if len(due) == 0 && !w.sleep(wait) {
			return
		}
	}
}

// sleep waits for d or a wake. It returns false when the engine ends.
func (w *inputWatch) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.wake:
	case <-w.h.engine.done:
		return false
	}
	return true
}

// due returns the jobs to probe now, or how long none is due. Without jobs the loop
// ends.
func (w *inputWatch) due(now time.Time) (list []*job, wait time.Duration, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = awaitIdle
	for j, i := range w.jobs {
		if left := i.next.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		list = append(list, j)
	}
	w.running = len(w.jobs) > 0
	return list, wait, w.running
}

// look probes one job, reports the result and schedules the next probe.
func (w *inputWatch) look(j *job) {
	defer j.guard()
	w.mu.Lock()
	i := w.jobs[j]
	dues := i.dues
	i.dues = nil
	w.mu.Unlock()
	seen := blind
	defer func() { w.settle(j, seen) }()
	seen = j.seeInput()
	fact := answerOf(seen)
	j.update(func() {
		for _, a := range dues {
			if a.fact == nil {
				a.fact = fact
			}
		}
		j.sayAnswers()
	})
}

// settle schedules the next probe, or stops watching the job.
func (w *inputWatch) settle(j *job, seen inputState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.jobs[j]
	now := time.Now()
	asked := now.Before(i.until)
	if len(i.dues) == 0 && (seen != reads && !asked || seen == deaf || seen == unseen) {
		delete(w.jobs, j)
		return
	}
	most := awaitMost
	if !asked {
		most = awaitIdle
	}
	if len(i.dues) == 0 && i.next.Before(now) {
		i.next = now.Add(i.pause)
		i.pause = min(2*i.pause, most)
	}
}

// answerOf returns the reply to a request for a probe.
func answerOf(seen inputState) messages.ProcessFact {
	switch seen {
	case blind:
		return unseeable("a process of the job cannot be seen: it runs with other rights, or this machine hides what processes do")
	case deaf:
		return refusal(messages.NoInput, "the job has closed its standard input")
	case unseen:
		return refusal(messages.NoInput, "the standard input of the job is closed")
	}
	return messages.ControlDone{}
}

// inputProbe is the result of one probe of a job's input.
type inputProbe struct {
	seen   inputState
	secret bool // the terminal does not echo
	end    *pipeEnd
	given  int // inputs before the probe
}

// stale reports whether the input has changed since the probe. The caller holds mu.
func (p inputProbe) stale(in *input) bool {
	return in.end != p.end || in.given != p.given || in.feeding
}

// probeInput probes the input of a job. pids lists the processes that may read it.
func (j *job) probeInput(pids func() []int) inputProbe {
	j.mu.Lock()
	in := j.input
	p := inputProbe{seen: unseen, end: in.end, given: in.given}
	busy, over := in.feeding, j.phase != phaseRunning || in.end == nil
	j.mu.Unlock()
	switch {
	case over:
	case busy:
		p.seen = notReading
	case p.end.master != nil:
		p.seen, p.secret = j.lookAtTerminal(p.end.master, pids)
	default:
		p.seen = j.look(p.end, pids)
	}
	return p
}

// pids returns the live processes of a job that has started.
func (j *job) pids() []int {
	j.mu.Lock()
	t := j.tree
	j.mu.Unlock()
	return t.pids()
}

// seeInput probes a job and reports a change.
func (j *job) seeInput() inputState {
	j.mu.Lock()
	in, known := j.input, j.input.waiting
	j.mu.Unlock()
	p := j.probeInput(j.pids)
	seen := p.seen
	said := seen != reads || known || j.caughtUp()
	j.update(func() {
		if !said && in.waitCount < maxBehind { // its prompt must be in the log first
			in.waitCount++
			seen = notReading
		} else {
			in.waitCount = 0
		}
		if p.stale(in) {
			if seen == reads { // it may read the new input
				seen = notReading
			}
			return
		}
		in.reportWaiting(j, seen == reads, seen == reads && p.secret)
	})
	return seen
}

// maxBehind bounds the probes that wait for logs to catch up: other processes may flood
// them.
const maxBehind = 20

// caughtUp reports whether the job's output until now is in its logs, as far as that
// takes no time. A log that is paused or full does not count.
func (j *job) caughtUp() bool {
	j.mu.Lock()
	streams := slices.Clone(j.streams)
	j.mu.Unlock()
	all := true
	for _, s := range streams {
		if s.reader != nil {
			s = s.reader
		}
		if !s.held() && !s.caughtUp() {
			all = false
		}
	}
	return all
}

// caughtUp reports whether the stream's output until now is in its log.
func (s *stream) caughtUp() bool {
	v, grown := s.moveQuickly()
	grown.tell()
	switch {
	case v != more:
		return true
	case !s.mu.TryLock(): // another goroutine copies
		return false
	}
	defer s.mu.Unlock()
	left := 0
	s.end.use(func(fd int) {
		if n, err := s.job.engine.opt.Sys.BytesReadable(fd); err == nil {
			left = n
		}
	})
	return left == 0
}

// look probes the pipe before its readers: input that arrives between was not there.
func (j *job) look(end *pipeEnd, pids func() []int) inputState {
	sys := j.engine.opt.Sys
	r := pipeReadProbe{sys: sys}
	seen := unseen
	err := end.conn.Control(func(fd uintptr) {
		if n, err := sys.BytesReadable(int(fd)); err != nil {
			seen = blind
			return
		} else if n > 0 {
			seen = notReading
			return
		}
		if hung, err := sys.HungUp(int(fd)); err == nil && hung {
			seen = deaf
			return
		}
		if sys.StatAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(fd)), &r.pipe) != nil {
			seen = blind
			return
		}
		seen = reads // if a process reads
	})
	if err != nil || seen != reads {
		return seen
	}
	return lookAt(pids(), r.process)
}
