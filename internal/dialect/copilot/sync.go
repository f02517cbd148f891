package copilot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// sync runs a command and waits for its end. After wait, or when a person promotes it, the
// command continues in the background.
func (s *Session) sync(ctx context.Context, e *execution, sh *attached, wait time.Duration, update func(dialect.Result)) (dialect.Result, error) {
	r := s.request(e, sh, e.text, s.options.Dir)
	r.PromoteAfter = wait
	show, began := s.newPartial(e, update), s.options.Now()
	job, _, err := s.options.Host.Run(e.life, r, 0, func(messages.JobID) {
		s.mu.Lock()
		e.started = true
		s.mu.Unlock()
		show.begin(ctx)
	})
	show.end(ctx, err == nil)
	if err != nil && ctx.Err() == nil && s.standing(e).stopped { // before the host knew it
		job, err = messages.Record{State: messages.Finished, End: messages.End{Outcome: messages.Cancelled}}, nil
	}
	switch {
	case ctx.Err() != nil:
		return dialect.Result{}, s.abort(ctx, e, sh)
	case err != nil:
		return s.unstarted(ctx, e, sh, "", err)
	case !job.State.Ended():
		s.closeStopped(e, sh)
		return s.goesOn(ctx, e, job, wait, s.options.Now().Sub(began) < wait)
	}
	s.ended(e, job, nil)
	result, err := s.completed(ctx, e, true)
	why := ReasonCompleted
	switch st := s.standing(e); {
	case st.stopped:
		why = ReasonStopped
	case st.died():
		why = ReasonError
	}
	s.finish(e, sh, why)
	return result, err
}

// goesOn returns the result of a promoted command. A person has promoted it if the job is
// kept, or the wait was not over.
func (s *Session) goesOn(ctx context.Context, e *execution, job messages.Record, wait time.Duration, early bool) (dialect.Result, error) {
	byPerson := job.HasFlag(messages.FlagKept) || early
	d := s.inBackground(e, job, byPerson)
	if !byPerson {
		return s.running(ctx, e, wait)
	}
	notice := hintNoNotice
	if s.notifies() {
		notice = hintNotice
	}
	d.HiddenFromUser = true
	return dialect.Result{Text: joined(replaced(job), fmt.Sprintf(statusMoved, e.id, notice)), Details: d}, nil
}

// running returns the result for a command that still runs, or has just ended.
func (s *Session) running(ctx context.Context, e *execution, waited time.Duration, notes ...string) (dialect.Result, error) {
	out, err := s.collect(ctx, e, false)
	if err != nil {
		return s.unreadable(ctx, err)
	}
	st := s.standing(e)
	if st.over { // ended meanwhile
		return s.completed(ctx, e, false, notes...)
	}
	text, d := s.textOf(ctx, e, out), s.details(e, st.record)
	d.output(out.SpillResult)
	status := fmt.Sprintf(statusRunning, e.id, spoken(waited), s.hint(text != ""))
	switch {
	case e.detached:
		status = fmt.Sprintf(statusDetachedOn, e.id, spoken(waited), e.logPath)
	case st.promoted:
		status = fmt.Sprintf(statusMovedRead, e.id, spoken(s.options.Now().Sub(e.began)))
	}
	return dialect.Result{Text: joined(append(append([]string{text}, notes...), replaced(st.record), status)...), Details: d}, nil
}

// textOf returns the text of an output: the screen of a program that takes the whole screen.
func (s *Session) textOf(ctx context.Context, e *execution, out captured) string {
	if out.fullScreen {
		if now, err := dialect.ReadScreen(ctx, s.options.Host, e.job()); err == nil && now.Alternate {
			return joined(strings.Join(now.Lines, "\n"), noteScreen)
		}
	}
	return LargeText(out.SpillResult)
}

// hint returns what the model can do with a running command. It mentions input only where
// input is possible.
func (s *Session) hint(output bool) string {
	n := s.options.Settings.Shell.Tools
	text := hintSilent
	switch can := s.can.TerminalInput; {
	case output && can:
		text = hintOutput
	case output:
		text = hintOutputNo
	case !can:
		text = hintSilentNo
	}
	return fmt.Sprintf(text, n.Read, n.Write, n.Stop)
}

// completed returns the result of a command that has ended, with the rest of its output.
func (s *Session) completed(ctx context.Context, e *execution, inTime bool, notes ...string) (dialect.Result, error) {
	out, err := s.collect(ctx, e, true)
	if err != nil {
		return s.unreadable(ctx, err)
	}
	st := s.standing(e)
	d := s.details(e, st.record)
	d.output(out.SpillResult)
	var status string
	failed := true
	switch {
	case st.why != "":
		status = fmt.Sprintf(statusError, e.id, st.why)
	case st.died():
		status = fmt.Sprintf(statusEnded, e.id, *st.exit)
	case inTime:
		status, failed = fmt.Sprintf(statusExit, *st.exit), false
	default:
		status, failed = fmt.Sprintf(statusCompleted, e.id, code(st.exit)), false
	}
	text := joined(append(append([]string{s.textOf(ctx, e, out)}, notes...), replaced(st.record), status)...)
	return dialect.Result{Text: text, IsError: failed, Details: d}, nil
}

// unreadable returns the result for an output that cannot be read.
func (s *Session) unreadable(ctx context.Context, err error) (dialect.Result, error) {
	if ctx.Err() != nil {
		return dialect.Result{}, ctx.Err()
	}
	return failure(joined(progressBad, err.Error()), nil), nil
}

// details returns the current details of a command.
func (s *Session) details(e *execution, job messages.Record) *Details {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := e.standing()
	d := &Details{ShellID: e.id, Status: st.status, ExitCode: st.exit, PID: job.PID, ExecutionMode: e.mode(), AttachmentMode: Attached, LogPath: e.logPath}
	if e.detached {
		d.AttachmentMode = Detached
	}
	return d
}

// mode returns the executionMode. The caller holds the session's mutex.
func (e *execution) mode() string {
	if e.background || e.async {
		return Background
	}
	return InSync
}
