package codelia

import (
	"context"
	"slices"

	"troupe/messages"
)

// shell implements the tool shell: it runs a command to its end, or starts a task with
// detached_wait.
func (s *Session) shell(ctx context.Context, p shellParams) (payload, error) {
	if bad := p.check(); bad != nil {
		return payload{}, bad
	}
	start := StartParams{ExecParams: ExecParams{Command: p.Command}, StdinMode: p.StdinMode, Detached: p.DetachedWait, Label: p.Label}
	timeout, mode := int64(defaultSeconds), messages.ModeSync
	if p.DetachedWait {
		timeout, mode = 0, messages.ModeAsync
	}
	if p.Timeout != nil {
		timeout = *p.Timeout
	}
	t, err := s.begin(ctx, start, timeout, mode)
	if err != nil {
		return payload{}, err
	}
	if p.DetachedWait {
		shown := s.brief(t)
		shown.DetachedWait = true
		return shown, nil
	}
	if err := s.await(ctx, t); err != nil {
		return payload{}, err
	}
	return s.outcome(ctx, t, p.Stderr), nil
}

// Limits of shell_list.
const (
	defaultListed = 20
	maxListed     = 100
)

// shellList implements the tool shell_list. The newest task comes first.
func (s *Session) shellList(_ context.Context, p listParams) (listing, error) {
	l := listing{Tasks: []listed{}, Limit: or(p.Limit, defaultListed), Ended: p.Ended}
	if l.Limit < 1 || l.Limit > maxListed {
		return l, invalid(textListed, maxListed)
	}
	switch p.State {
	case "":
	case Queued, Running, Completed, Failed, Cancelled:
		l.State = &p.State
	default:
		return l, invalid(textState)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range slices.Backward(s.tasks) {
		active := t.state == Queued || t.state == Running
		if p.State == "" && !active && !p.Ended || p.State != "" && t.state != p.State {
			continue
		}
		if int64(len(l.Tasks)) == l.Limit {
			break
		}
		l.Tasks = append(l.Tasks, listed{
			Key: t.key, Label: t.label, Command: logCommand(t.command), State: t.state, FailureMessage: t.failure, CancellationReason: t.reason,
		})
	}
	l.Returned = len(l.Tasks)
	return l, nil
}

// shellStatus implements the tool shell_status.
func (s *Session) shellStatus(_ context.Context, p keyParams) (payload, error) {
	t, bad := s.named(p.Key)
	if bad != nil {
		return payload{}, bad
	}
	return s.brief(t), nil
}

// shellWait implements the tool shell_wait.
func (s *Session) shellWait(ctx context.Context, p waitParams) (payload, error) {
	t, bad := s.named(p.Key)
	switch {
	case bad != nil:
		return payload{}, bad
	case p.Timeout != nil && (*p.Timeout < 1 || *p.Timeout > maxSeconds):
		return payload{}, invalid(textToolWait, maxSeconds)
	}
	i, detached, err := s.Wait(ctx, WaitParams{TaskID: t.id, WaitTimeoutSeconds: p.Timeout})
	switch {
	case err != nil:
		return payload{}, err
	case detached != nil, i.StillRunning:
		shown := s.brief(t)
		shown.StillRunning = true
		return shown, nil
	}
	return s.outcome(ctx, t, p.Stderr), nil
}

// shellResult implements the tool shell_result.
func (s *Session) shellResult(ctx context.Context, p resultParams) (payload, error) {
	t, bad := s.named(p.Key)
	if bad != nil {
		return payload{}, bad
	}
	select {
	case <-t.settled:
		return s.outcome(ctx, t, p.Stderr), nil
	default:
		return s.brief(t), nil
	}
}

// shellCancel implements the tool shell_cancel.
func (s *Session) shellCancel(ctx context.Context, p keyParams) (payload, error) {
	t, bad := s.named(p.Key)
	if bad != nil {
		return payload{}, bad
	}
	i, err := s.Cancel(ctx, TaskParams{t.id})
	if err != nil {
		return payload{}, err
	}
	shown := s.brief(t)
	shown.CancellationReason, shown.FailureMessage = i.CancellationReason, i.FailureMessage
	return shown, nil
}

// shellWrite implements the tool shell_stdin_write.
func (s *Session) shellWrite(ctx context.Context, p stdinParams) (written, error) {
	t, bad := s.named(p.Key)
	switch {
	case bad != nil:
		return written{}, bad
	case p.data() == "" && !p.Close:
		return written{}, invalid(textStdinEmpty)
	}
	if err := s.Input(ctx, InputParams{TaskID: t.id, Data: p.data(), Close: p.Close}); err != nil {
		return written{}, err
	}
	return written{Key: t.key, State: s.brief(t).State, Bytes: len(p.data()), Closed: p.Close}, nil
}
