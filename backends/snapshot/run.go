package snapshot

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// patience is how long the engine may take beyond a job's limit until the job is given up:
// as long as its own bound of a kill, and some.
const patience = 10 * time.Second

// Mark is the Meta of the jobs: a tree that begins around a keeper and finds one may let it
// end, which it does by its deadline, and need not show it.
const Mark = "snapshot"

// run is a job that is over.
type run struct {
	failed *messages.Error // it never ran, or nobody knows how it ended
	status messages.ExitStatus
	cause  messages.Cause
	output []byte
}

// late reports whether the job was killed because its time was over.
func (r run) late() bool { return r.cause.By == messages.ByDeadline }

// run runs a program on no terminal, with no input, and reads at most most bytes of what
// it writes: of its standard output only, if streams are separate. After the limit its tree
// is killed, and so is what it leaves behind.
func (m *Maker) run(argv, env []string, limit time.Duration, streams messages.StreamMode, most int64) run {
	e := &jobEnd{over: make(chan struct{})}
	id := m.options.NewID()
	proc := m.engine.Start(backends.Spec{
		ID: id, Argv: argv, Env: env, Dir: "/", Umask: -1, Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: streams},
		Deadline: limit, OnExit: messages.KillChildren,
		Meta: []byte(Mark),
		Log:  spill.Plan{Group: folder, Quota: most, Policy: spill.KeepHead},
	}, e.receive)
	defer func() {
		proc.Release()
		if m.options.Forget != nil {
			m.options.Forget(id)
		}
	}()
	late := time.NewTimer(limit + patience)
	defer late.Stop()
	select {
	case <-e.over:
	case <-m.over:
		proc.Stop(messages.Cause{By: messages.ByShutdown, Reason: "the node ends"}, 0)
		select {
		case <-e.over:
		case <-late.C:
		}
	case <-late.C:
		proc.Stop(messages.Cause{By: messages.ByDeadline, Reason: "it ran longer than its timeout"}, 0)
	}
	r, last, over := e.result()
	if !over {
		return run{failed: &messages.Error{Code: messages.Internal, Message: "its end was not told"}}
	}
	if r.failed == nil {
		r.output = read(proc, streams, most)
	}
	proc.Settle(last)
	return r
}

// read is the beginning of what a job wrote.
func read(proc backends.Process, streams messages.StreamMode, most int64) []byte {
	stream := messages.Merged
	if streams == messages.SeparateStreams {
		stream = messages.Stdout
	}
	log, err := proc.Output(stream)
	if err != nil {
		return nil // it wrote nothing, or what it wrote is lost: then it has not told
	}
	defer log.Close()
	output := make([]byte, min(log.State().Size, most))
	n, _ := log.ReadAt(output, 0)
	return output[:n]
}

// jobEnd hears the facts of one job.
type jobEnd struct {
	over chan struct{} // closed when nothing of the job is left

	mu     sync.Mutex
	job    run
	ending backends.EndTracker
	quiet  bool
}

func (e *jobEnd) receive(fact messages.ProcessFact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch f := fact.(type) { // a job that failed or is lost never ran, or nobody knows how it ended
	case messages.ProcessFailed:
		e.job.failed = &f.Err
	case messages.ProcessLost:
		e.job.failed = &f.Err
	case messages.ProcessExited:
		e.job.status, e.job.cause = f.Status, f.Cause
	}
	if e.ending.Hear(fact) && !e.quiet {
		e.quiet = true
		close(e.over)
	}
}

// heard is the job, once nothing of it is left.
func (e *jobEnd) result() (r run, last uint64, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.job, e.ending.Last, e.quiet
}
