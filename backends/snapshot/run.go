package snapshot

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// patience is the time beyond a job's limit until the maker gives it up: the engine's own limit
// of a kill, and some.
const patience = 10 * time.Second

// Mark is the Meta of snapshot jobs. A node that finds one in an inventory may hide it; its
// deadline ends it.
const Mark = "snapshot"

// run is the result of a job.
type run struct {
	failed *messages.Error // it never ran, or how it ended is unknown
	status messages.ExitStatus
	cause  messages.Cause
	output []byte
}

// late reports whether the job was killed at its deadline.
func (r run) late() bool { return r.cause.By == messages.ByDeadline }

// run runs a program without a terminal and input. It reads at most most bytes of its output, or
// of its standard output if streams are separate. After the limit its tree is killed, and after
// the exit its leftovers.
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
		return run{failed: &messages.Error{Code: messages.Internal, Message: "the engine did not report its end"}}
	}
	if r.failed == nil {
		r.output = read(proc, streams, most)
	}
	proc.Settle(last)
	return r
}

// read returns the beginning of a job's output.
func read(proc backends.Process, streams messages.StreamMode, most int64) []byte {
	stream := messages.Merged
	if streams == messages.SeparateStreams {
		stream = messages.Stdout
	}
	log, err := proc.Output(stream)
	if err != nil {
		return nil // no output, or it is lost; the dump is incomplete then
	}
	defer log.Close()
	output := make([]byte, min(log.State().Size, most))
	n, _ := log.ReadAt(output, 0)
	return output[:n]
}

// jobEnd collects the facts of one job.
type jobEnd struct {
	over chan struct{} // closed when the job is over

	mu     sync.Mutex
	job    run
	ending backends.EndTracker
	quiet  bool
}

func (e *jobEnd) receive(fact messages.ProcessFact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch f := fact.(type) { // a failed or lost job has no result
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

// result returns the job's result, valid once over is true.
func (e *jobEnd) result() (r run, last uint64, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.job, e.ending.Last, e.quiet
}
