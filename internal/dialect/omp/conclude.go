package omp

import (
	"context"
	"errors"
	"io"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// lookTime bounds the requests to the node for an aborted or abandoned call. It is short,
// but allows for the kill after the grace.
const lookTime = grace + time.Second

// conclude determines how a command ended whose run has returned, or was abandoned.
func (s *Session) conclude(ctx context.Context, f *activeRun) ended {
	e := ended{timeout: f.timeout, limits: f.limits, pty: f.pty, wall: s.options.Now().Sub(f.began), notes: f.notes}
	look := ctx
	if ctx.Err() != nil || f.left.Load() {
		var stop context.CancelFunc
		look, stop = context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer stop()
	}
	var job messages.Record
	var text *dialect.Text
	switch {
	case f.left.Load() || errors.Is(f.err, context.Canceled): // the run was abandoned: it has no record
		job = s.lookUp(look, f.id())
	case f.err != nil:
		f.close()
		s.release(f.shell(), keepShell)
		return e.refused(f.err)
	default:
		job, text = f.job, &f.text
	}
	e = s.judge(ctx, f, job, e)
	e.out, e.notes = s.capture(look, f, job, text, e)
	f.close()
	if !e.out.Minimized {
		f.updates.say(e.out.Text)
	}
	f.updates.close()
	s.after(f, e)
	return e
}

// close waits for the goroutines that watch a command that has ended. Those of an abandoned
// one end by themselves.
func (f *activeRun) close() {
	f.cancel()
	if !f.left.Load() {
		f.looks.Wait()
	}
}

// lookUp returns the record of an abandoned command at its end, or after lookTime.
func (s *Session) lookUp(ctx context.Context, id messages.JobID) messages.Record {
	end, err := host.Ask(ctx, s.options.Host, messages.WaitJobs{Jobs: []messages.JobID{id}, Timeout: lookTime})
	if err == nil && len(end.Jobs) == 1 {
		return end.Jobs[0]
	}
	job, err := dialect.Job(ctx, s.options.Host, id)
	if err != nil {
		return messages.Record{}
	}
	return job
}

// refused returns the end of a command that the node has refused.
func (e ended) refused(err error) ended {
	e.how, e.why = unstarted, err.Error()
	if e.pty {
		e.how = statusless
	}
	return e
}

// judge sets how a job ended. A timeout that the node enforced stays a timeout even if the
// caller has aborted meanwhile.
func (s *Session) judge(ctx context.Context, f *activeRun, job messages.Record, e ended) ended {
	switch {
	case f.left.Load() && ctx.Err() == nil:
		e.how = abandoned
	case job.End.Outcome == messages.Exited || job.End.Outcome == messages.Signaled:
		e.code = job.End.Shell()
	case job.End.Outcome == messages.TimedOut:
		e.how = timedOut
	case job.End.Outcome == messages.FailedToStart:
		e.how, e.why = unstarted, job.End.Err.Error()
		if f.pty {
			e.how = statusless
		}
	case job.End.Outcome == messages.Cancelled && f.headStop.Load() && job.End.Cause.Reason == headReason:
		e.code = 0 // as a pipe ends when its reader has closed it
	case ctx.Err() != nil || s.ctx.Err() != nil || f.jobCancelled.Load():
		e.how = aborted
	case job.End.Outcome == messages.Cancelled:
		e.how, e.why = cancelled, whyCancelled(job.End.Cause)
	case f.err == nil && job.UID != "" && !job.State.Ended():
		e.how = promoted
	default:
		e.how, e.why = statusless, job.End.Err.Message
	}
	if job.HasFlag(messages.FlagReplaced) {
		e.notes = append(e.notes, textShellReplaced)
	}
	return e
}

func whyCancelled(c messages.Cause) string {
	if c.Reason != "" {
		return c.Reason
	}
	if c.By != messages.ByNone && c.By != messages.ByClient {
		return "by the " + string(c.By)
	}
	return ""
}

// after releases the live shell after a command.
func (s *Session) after(f *activeRun, e ended) {
	switch e.how {
	case exited:
		s.release(f.shell(), keepShell)
	case abandoned:
		s.release(f.shell(), breakShell)
	case promoted:
		s.leave(f.shell())
	default:
		s.release(f.shell(), dropShell)
	}
}

// ExecuteTo runs a command for a user or a wire protocol: without a terminal, rules or
// limits, and with its text unchanged. A timeout or an abort is not an error
// . While it runs, to receives its whole output as clean text, in pieces of at most
// 192 KiB. The result comes after the last piece, and nothing rewrites its text.
func (s *Session) ExecuteTo(ctx context.Context, command string, to io.Writer) (BashResult, error) {
	c := &call{p: Params{Command: command}, original: command, command: command, timeout: timeout(nil, Settings{})}
	if ctx.Err() != nil { // nothing is spawned
		return ended{how: aborted, timeout: c.timeout}.plain(), nil
	}
	if err := s.resolveDir(c); err != nil {
		return BashResult{}, err
	}
	l, err := s.launchOf(c, shelltext.SessionKey(s.options.SessionID))
	if err != nil {
		return BashResult{}, err
	}
	l.feed = s.newOutputFeed(to)
	f := s.launch(ctx, l, nil)
	s.wait(ctx, f)
	e := s.conclude(ctx, f)
	if e.how == unstarted {
		return BashResult{}, errors.New(e.result().Text)
	}
	return e.plain(), nil
}
