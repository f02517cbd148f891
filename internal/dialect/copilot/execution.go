package copilot

import (
	"context"
	"errors"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// execution is one command. What can change is guarded by the mutex of its session.
type execution struct {
	id, command, description string // as far as they are kept: mostKept
	digest                   string // of the whole command
	length                   int
	text                     string // the whole command, until it has begun
	async, detached          bool
	logPath                  string
	uid                      messages.UID
	began                    time.Time
	out                      *capture
	done                     chan struct{}      // closed when it is over
	life                     context.Context    //nolint:containedctx // of its run
	abandon                  context.CancelFunc // ends it: who stops a command may come before the host knows it

	started    bool // the node knows it
	background bool // it goes on without its call
	promoted   bool // by a person
	stopped    bool // by us, on somebody's behalf
	ended      bool
	record     messages.Job // as it was last heard of
	exit       *int
	failure    string // it ended as no command does by itself
	at         time.Time
}

func (e *execution) job() messages.JobID { return messages.JobID(e.uid) }

// shellState is what can change of an execution, at one time.
type shellState struct {
	background, promoted, stopped, over bool
	record                              messages.Job
	exit                                *int
	why                                 string
	at                                  time.Time
	status                              Status
}

func (s *Session) standing(e *execution) shellState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.standing()
}

// standing is called with the mutex of the session.
func (e *execution) standing() shellState {
	now := shellState{
		background: e.background, promoted: e.promoted, stopped: e.stopped, over: e.ended, record: e.record, exit: e.exit, why: e.failure, at: e.at, status: StatusRunning,
	}
	if e.ended {
		now.status = statusOf(e.record, e.stopped)
	}
	return now
}

// died says that the shell of a command ended with it.
func (st shellState) died() bool { return st.why != "" || st.record.HasFlag(messages.FlagSessionEnded) }

// watch waits beside all calls for the end of a command in the background: that hangs on
// the job, and not on somebody's reading.
func (s *Session) watch(e *execution) {
	s.options.Beside.Go(func() {
		job, err := dialect.WaitEnd(s.ctx, s.options.Host, e.job())
		if s.ctx.Err() == nil {
			s.ended(e, job, err)
		}
	})
}

// ended says that a command is over, once; then its end is told if nobody waits for it
// . A shell that died with it is closed.
func (s *Session) ended(e *execution, job messages.Job, err error) {
	s.mu.Lock()
	if e.ended {
		s.mu.Unlock()
		return
	}
	e.ended, e.at, e.record, e.text = true, s.options.Now(), job, ""
	e.exit, e.failure = outcome(job)
	if err != nil {
		e.exit, e.failure = nil, err.Error()
	}
	if !s.can.TTYSupport && !e.detached && e.failure != "" { // as a process without a code
		one := 1
		e.exit = &one
	}
	st := e.standing()
	sh := s.shells[e.id]
	dead := sh != nil && sh.last == e && sh.session != "" && st.died()
	switch {
	case dead && e.stopped:
		s.drop(sh, ReasonStopped)
	case dead:
		s.drop(sh, ReasonError)
	}
	tells := e.background && !e.stopped && s.notifies()
	s.evict()
	close(e.done)
	s.mu.Unlock()
	if dead {
		s.closeBeside(sh)
	}
	if tells {
		s.options.Notify(noticeOf(e.id, e.description, e.command, st.exit, e.detached, s.options.Settings.Shell.Tools))
	}
}

// settle asks for the record of a command that was stopped: it may be said a moment
// later that it has ended.
func (s *Session) settle(ctx context.Context, e *execution) {
	if s.standing(e).over {
		return
	}
	end, err := s.options.Host.Await(ctx, messages.WaitJobs{Jobs: []messages.JobID{e.job()}, Timeout: grace})
	if err == nil && len(end.Jobs) == 1 && end.Jobs[0].State.Ended() {
		s.ended(e, end.Jobs[0], nil)
	}
}

// notifies says whether somebody is told of ends in the background.
func (s *Session) notifies() bool {
	return s.options.Notify != nil && !s.options.Settings.NoNotifications
}

// forget takes a task out of the tables. Called with s.mu.
func (s *Session) forget(e *execution) {
	if s.tasks[e.id] == e {
		delete(s.tasks, e.id)
	}
	for i, other := range s.order {
		if other == e {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// evict forgets the oldest of too many tasks that are over and whose shells are gone.
// Called with s.mu.
func (s *Session) evict() {
	var ended []*execution
	for _, e := range s.order {
		if e.ended && s.shells[e.id] == nil {
			ended = append(ended, e)
		}
	}
	for _, e := range ended[:max(0, len(ended)-mostEnded)] {
		s.forget(e)
	}
}

func isCode(err error, code messages.Code) bool { return errors.Is(err, &messages.Error{Code: code}) }

// gone says of an error that what it is about is not there any more.
func gone(err error) bool {
	return isCode(err, messages.NotFound) || isCode(err, messages.SessionClosedCode) || isCode(err, messages.JobFinished)
}
