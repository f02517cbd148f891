package copilot

import (
	"context"
	"errors"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// execution is one command. The session's mutex guards the fields below abandon.
type execution struct {
	id, command, description string // command and description cut to mostKept
	digest                   string // of the whole command
	length                   int
	text                     string // the whole command, until it has started
	async, detached          bool
	logPath                  string
	uid                      messages.UID
	began                    time.Time
	out                      *capture
	done                     chan struct{}      // closed when the command has ended
	life                     context.Context    //nolint:containedctx // of its run
	abandon                  context.CancelFunc // ends life; needed for a stop before the host knows the command

	started    bool // the node knows the command
	background bool // its call has returned
	promoted   bool // by a person
	stopped    bool // by the session, on request
	ended      bool
	record     messages.Record // last known record
	exit       *int
	failure    string // why it ended abnormally; "": it exited
	at         time.Time
}

func (e *execution) job() messages.JobID { return messages.JobID(e.uid) }

// shellState is a snapshot of the fields of an execution that change.
type shellState struct {
	background, promoted, stopped, over bool
	record                              messages.Record
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

// standing returns the state of the command. The caller holds the session's mutex.
func (e *execution) standing() shellState {
	now := shellState{
		background: e.background, promoted: e.promoted, stopped: e.stopped, over: e.ended, record: e.record, exit: e.exit, why: e.failure, at: e.at, status: StatusRunning,
	}
	if e.ended {
		now.status = statusOf(e.record, e.stopped)
	}
	return now
}

// died reports whether the shell of a command ended with the command.
func (st shellState) died() bool { return st.why != "" || st.record.HasFlag(messages.FlagSessionEnded) }

// watch waits in the background for the end of a command. The notice depends on the job,
// not on a read.
func (s *Session) watch(e *execution) {
	s.options.Beside.Go(func() {
		job, err := dialect.WaitEnd(s.ctx, s.options.Host, e.job())
		if s.ctx.Err() == nil {
			s.ended(e, job, err)
		}
	})
}

// ended records the end of a command, once, and sends the notice if the command was in the
// background. It closes a shell that died with the command.
func (s *Session) ended(e *execution, job messages.Record, err error) {
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
	if !s.can.TTYSupport && !e.detached && e.failure != "" { // as for a process without an exit code
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

// settle waits for the final record of a command that was stopped. The record may arrive a
// moment later.
func (s *Session) settle(ctx context.Context, e *execution) {
	if s.standing(e).over {
		return
	}
	end, err := host.Ask(ctx, s.options.Host, messages.WaitJobs{Jobs: []messages.JobID{e.job()}, Timeout: grace})
	if err == nil && len(end.Jobs) == 1 && end.Jobs[0].State.Ended() {
		s.ended(e, end.Jobs[0], nil)
	}
}

// notifies reports whether notices of ends in the background are sent.
func (s *Session) notifies() bool {
	return s.options.Notify != nil && !s.options.Settings.NoNotifications
}

// forget removes a task from the tables. The caller holds s.mu.
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

// evict forgets the oldest ended tasks without a shell beyond mostEnded. The caller holds
// s.mu.
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

// gone reports whether the object of a request no longer exists.
func gone(err error) bool {
	return isCode(err, messages.NotFound) || isCode(err, messages.SessionClosedCode) || isCode(err, messages.JobFinished)
}
