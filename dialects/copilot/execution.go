package copilot

import (
	"context"
	"errors"
	"time"

	"troupe/dialects"
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
	over       bool
	record     messages.Job // as it was last heard of
	exit       *int
	why        string // it ended as no command does by itself
	at         time.Time
}

func (e *execution) job() messages.JobID { return messages.JobID(e.uid) }

// standing is what can change of an execution, at one time.
type standing struct {
	background, promoted, stopped, over bool
	record                              messages.Job
	exit                                *int
	why                                 string
	at                                  time.Time
	status                              Status
}

func (s *Session) standing(e *execution) standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.standing()
}

// standing is called with the mutex of the session.
func (e *execution) standing() standing {
	now := standing{
		background: e.background, promoted: e.promoted, stopped: e.stopped, over: e.over, record: e.record, exit: e.exit, why: e.why, at: e.at, status: StatusRunning,
	}
	if e.over {
		now.status = statusOf(e.record, e.stopped)
	}
	return now
}

// died says that the shell of a command ended with it.
func (st standing) died() bool { return st.why != "" || st.record.HasFlag(messages.FlagSessionEnded) }

// watch waits beside all calls for the end of a command in the background: that hangs on
// the job, and not on somebody's reading.
func (s *Session) watch(e *execution) {
	s.o.Beside.Go(func() {
		job, err := dialects.WaitEnd(s.ctx, s.o.Host, e.job())
		if s.ctx.Err() == nil {
			s.ended(e, job, err)
		}
	})
}

// ended says that a command is over, once; then its end is told if nobody waits for it
// . A shell that died with it is closed.
func (s *Session) ended(e *execution, job messages.Job, err error) {
	s.mu.Lock()
	if e.over {
		s.mu.Unlock()
		return
	}
	e.over, e.at, e.record, e.text = true, s.o.Now(), job, ""
	e.exit, e.why = outcome(job)
	if err != nil {
		e.exit, e.why = nil, err.Error()
	}
	if !s.can.TTYSupport && !e.detached && e.why != "" { // as a process without a code
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
		s.o.Notify(noticeOf(e.id, e.description, e.command, st.exit, e.detached, s.o.Settings.Shell.Tools))
	}
}

// settle asks for the record of a command that was stopped: it may be said a moment
// later that it has ended.
func (s *Session) settle(ctx context.Context, e *execution) {
	if s.standing(e).over {
		return
	}
	end, err := s.o.Host.Await(ctx, messages.WaitJobs{Jobs: []messages.JobID{e.job()}, Timeout: grace})
	if err == nil && len(end.Jobs) == 1 && end.Jobs[0].State.Ended() {
		s.ended(e, end.Jobs[0], nil)
	}
}

// notifies says whether somebody is told of ends in the background.
func (s *Session) notifies() bool { return s.o.Notify != nil && !s.o.Settings.NoNotifications }

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
		if e.over && s.shells[e.id] == nil {
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
