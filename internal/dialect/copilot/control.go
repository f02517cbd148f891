package copilot

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Read waits for the end of a command, at most for the delay, and returns its output
//
func (s *Session) Read(ctx context.Context, p ReadParams) (dialect.Result, error) {
	wait, bad := p.wait()
	if bad != nil {
		return failure(bad.Message, nil), nil
	}
	id := string(p.ShellID)
	return s.inTurn(ctx, id, func() (dialect.Result, error) {
		e, missing := s.find(id, "read", verbRead)
		if e == nil {
			return missing, nil
		}
		if st := s.standing(e); st.promoted && !st.over { // the user waits for an answer
			return s.running(ctx, e, 0)
		}
		return s.wait(ctx, e, wait, wait)
	})
}

// inTurn runs a call for a shell when its turn has come.
func (s *Session) inTurn(ctx context.Context, id string, do func() (dialect.Result, error)) (dialect.Result, error) {
	done, err := s.turns.take(ctx, id)
	if err != nil {
		return s.unqueued(id, err)
	}
	defer done()
	return do()
}

// wait waits for the end of a command, at most for left, and returns what it has written.
func (s *Session) wait(ctx context.Context, e *execution, delay, left time.Duration, notes ...string) (dialect.Result, error) {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-e.done:
		return s.completed(ctx, e, false, notes...)
	case <-timer.C:
	case <-ctx.Done():
		return dialect.Result{}, ctx.Err()
	}
	return s.running(ctx, e, delay, notes...)
}

// Write types input at a command on a terminal, then continues as Read.
func (s *Session) Write(ctx context.Context, p WriteParams) (dialect.Result, error) {
	wait, bad := p.wait()
	if bad != nil {
		return failure(bad.Message, nil), nil
	}
	return s.inTurn(ctx, string(p.ShellID), func() (dialect.Result, error) { return s.write(ctx, p, wait) })
}

func (s *Session) write(ctx context.Context, p WriteParams, wait time.Duration) (dialect.Result, error) {
	id := string(p.ShellID)
	e, missing := s.find(id, "write", verbWrite)
	switch {
	case e == nil:
		return missing, nil
	case e.detached || !s.can.TerminalInput || s.standing(e).over:
		return failure(fmt.Sprintf(statusUnsent, id), s.details(e, messages.Record{})), nil
	}
	began := s.options.Now()
	note, err := s.typeIn(ctx, e, Typed(p.Input), wait)
	switch {
	case ctx.Err() != nil:
		return dialect.Result{}, ctx.Err()
	case gone(err) || isCode(err, messages.NoInput):
		return failure(fmt.Sprintf(statusUnsent, id), s.details(e, messages.Record{})), nil
	case err != nil:
		return failure(joined(err.Error(), fmt.Sprintf(statusUnsent, id)), s.details(e, messages.Record{})), nil
	}
	return s.wait(ctx, e, wait, max(0, wait-s.options.Now().Sub(began)), note)
}

// typeIn writes input to a command in order. Input that the program does not read in time is
// not taken back; the note says so.
func (s *Session) typeIn(ctx context.Context, e *execution, typed []byte, wait time.Duration) (note string, err error) {
	bounded, stop := context.WithTimeout(ctx, wait)
	defer stop()
	for piece := range slices.Chunk(typed, messages.MaxInput) {
		if err := dialect.Input(bounded, s.options.Host, messages.WriteInput{Job: e.job(), Data: piece}); err != nil {
			if bounded.Err() != nil && ctx.Err() == nil {
				return noteUntaken, nil
			}
			return "", err
		}
	}
	return "", nil
}

// Stop stops a shell with its process tree, or a detached command. A missing shell
// is not a failure.
func (s *Session) Stop(ctx context.Context, p StopParams) (dialect.Result, error) {
	id := string(p.ShellID)
	if id == "" {
		return failure(joined(textNoID, s.active()), nil), nil
	}
	return s.inTurn(ctx, id, func() (dialect.Result, error) { return s.stop(ctx, id) })
}

func (s *Session) stop(ctx context.Context, id string) (dialect.Result, error) {
	s.mu.Lock()
	sh, e := s.shells[id], s.tasks[id]
	was := sh != nil && sh.last.stopped
	if sh != nil {
		sh.last.stopped = was || !sh.last.ended
		s.drop(sh, ReasonStopped)
	}
	s.mu.Unlock()
	switch {
	case sh != nil:
		if err := s.shut(ctx, sh); err != nil {
			s.restore(sh, was)
			return s.unstopped(ctx, id, err)
		}
		s.settle(ctx, sh.last)
		sh.last.abandon()
		return s.stopped(sh.last, stoppedNow, statusStopped), nil
	case e != nil && e.detached && !s.standing(e).stopped:
		return s.stopDetached(ctx, e)
	}
	_, missing := s.missing(id, "stop", verbStop)
	missing.IsError = false
	return missing, nil
}

// stoppedByAgent is the reason for stopping a detached command.
const stoppedByAgent = "stopped by its agent"

// stopDetached stops the job of a detached command. Its keeper does so: it knows whether a
// process is still the one that it started.
func (s *Session) stopDetached(ctx context.Context, e *execution) (dialect.Result, error) {
	s.mu.Lock()
	over := e.ended
	e.stopped = !over
	s.mu.Unlock()
	if over {
		return s.stopped(e, alreadyGone, statusGone), nil
	}
	answer, err := host.Ask(ctx, s.options.Host, messages.StopCommand{Job: e.job(), Grace: grace, Reason: stoppedByAgent})
	if err != nil && !gone(err) {
		s.mu.Lock()
		e.stopped = false
		s.mu.Unlock()
		return s.unstopped(ctx, e.id, err)
	}
	if answer.Already || err != nil {
		s.mu.Lock()
		e.stopped = false
		s.mu.Unlock()
		s.settle(ctx, e)
		return s.stopped(e, alreadyGone, statusGone), nil
	}
	s.settle(ctx, e)
	s.mu.Lock()
	s.remember(Shutdown{ShellID: e.id, Reason: ReasonStopped, At: s.options.Now(), CommandHash: e.digest, CommandLength: e.length})
	s.mu.Unlock()
	return s.stopped(e, stoppedNow, statusStopped), nil
}

func (s *Session) stopped(e *execution, status, text string) dialect.Result {
	d := s.details(e, messages.Record{})
	d.Telemetry = map[string]string{"shell_status": status}
	s.count("stop", status)
	return dialect.Result{Text: fmt.Sprintf(text, e.id), Details: d}
}

func (s *Session) unstopped(ctx context.Context, id string, err error) (dialect.Result, error) {
	if ctx.Err() != nil {
		return dialect.Result{}, ctx.Err()
	}
	return failure(fmt.Sprintf(statusError, id, err.Error()), &Details{ShellID: id}), nil
}

// find returns the command of an id, or the result that says why there is none.
func (s *Session) find(id, operation, verb string) (*execution, dialect.Result) {
	s.mu.Lock()
	e := s.tasks[id]
	found := e != nil && !e.stopped
	if found && e.ended && s.shells[id] == nil && !e.detached {
		_, all := e.out.read() // the rest of a closed shell's output is shown once
		found = !all
	}
	s.mu.Unlock()
	if found {
		return e, dialect.Result{}
	}
	return s.missing(id, operation, verb)
}

// missing returns the result for a shell that does not exist, and counts it
//
func (s *Session) missing(id, operation, verb string) (*execution, dialect.Result) {
	s.mu.Lock()
	var last *Shutdown
	for i := range s.shutdowns {
		if s.shutdowns[i].ShellID == id {
			end := s.shutdowns[i]
			last = &end
		}
	}
	m := Classify(id, verb, last, s.ids.gave(id))
	s.mu.Unlock()
	fields := map[string]string{"shell_error_category": string(m.Category), "shell_operation": operation}
	if operation == "stop" {
		fields["shell_status"] = stopStatus(m.Category)
	}
	s.count(operation, string(m.Category))
	s.options.Log.LogAttrs(context.Background(), slog.LevelInfo, "a shell is missing",
		slog.String("shell_error_category", string(m.Category)), slog.String("shell_operation", operation), slog.String("diagnostic", m.Diagnostic))
	return nil, failure(joined(m.Text, s.active()), &Details{ShellID: id, Telemetry: fields})
}

// count increments a counter.
func (s *Session) count(operation, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[operation+"/"+what]++
}

// active lists the shells that a call can name.
func (s *Session) active() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, e := range s.order {
		st := e.standing()
		if s.shells[e.id] == nil && (st.over || !e.detached) {
			continue
		}
		stands := Listed{Ended: st.over, Status: st.status, Code: st.exit, Why: st.why}
		lines = append(lines, fmt.Sprintf(missLine, e.id, stands.standing()))
	}
	if len(lines) == 0 {
		return missNone
	}
	return missActive + "\n" + strings.Join(lines, "\n")
}
