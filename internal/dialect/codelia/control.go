package codelia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// List implements shell.list.
func (s *Session) List(_ context.Context, p ListParams) (ListResult, error) {
	if p.Limit != nil && *p.Limit <= 0 {
		return ListResult{}, invalid(textLimit)
	}
	s.mu.Lock()
	all := slices.Clone(s.tasks)
	s.mu.Unlock()
	slices.Reverse(all)
	if p.Limit != nil {
		all = all[:min(len(all), *p.Limit)]
	}
	r := ListResult{Tasks: []TaskInfo{}}
	for _, t := range all {
		r.Tasks = append(r.Tasks, s.info(t))
	}
	return r, nil
}

// Status implements shell.status.
func (s *Session) Status(_ context.Context, p TaskParams) (TaskInfo, error) {
	t, bad := s.known(p.TaskID)
	if bad != nil {
		return TaskInfo{}, bad
	}
	return s.info(t), nil
}

// Wait implements shell.wait. It returns when the task has a result or the time is over;
// then the task still runs. A wait that was detached returns the second result.
func (s *Session) Wait(ctx context.Context, p WaitParams) (TaskInfo, *DetachResult, error) {
	t, bad := s.known(p.TaskID)
	if bad != nil {
		return TaskInfo{}, nil, bad
	}
	most, bad := seconds(p.WaitTimeoutSeconds, textWaitTimeout)
	if bad != nil {
		return TaskInfo{}, nil, bad
	}
	detached := make(chan struct{})
	s.mu.Lock()
	t.waits[detached] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(t.waits, detached)
	}()
	timer := time.NewTimer(time.Duration(most) * time.Second)
	defer timer.Stop()
	select {
	case <-t.settled:
		return s.info(t), nil, nil
	case <-detached:
		return TaskInfo{}, s.detached(t), nil
	case <-timer.C:
		i := s.info(t)
		i.StillRunning = i.EndedAt == ""
		return i, nil, nil
	case <-ctx.Done():
		return TaskInfo{}, nil, ctx.Err()
	}
}

// Detach implements shell.detach: pending waits for the task return now, and the task
// continues.
func (s *Session) Detach(_ context.Context, p TaskParams) (DetachResult, error) {
	t, bad := s.known(p.TaskID)
	if bad != nil {
		return DetachResult{}, bad
	}
	s.mu.Lock()
	if len(t.waits) == 0 || !t.ended.IsZero() {
		s.mu.Unlock()
		return DetachResult{}, invalid(textNoWait, t.id)
	}
	for wait := range t.waits {
		close(wait)
	}
	clear(t.waits)
	s.mu.Unlock()
	return *s.detached(t), nil
}

func (s *Session) detached(t *task) *DetachResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &DetachResult{TaskID: t.id, Detached: true, State: t.state}
}

// Cancel implements shell.cancel. It returns when the task has its result, which may be
// before its process tree has ended. A task that has ended does not change.
func (s *Session) Cancel(ctx context.Context, p TaskParams) (TaskInfo, error) {
	t, bad := s.known(p.TaskID)
	if bad != nil {
		return TaskInfo{}, bad
	}
	select {
	case <-t.settled:
		return s.info(t), nil
	default:
	}
	refused := make(chan error, 1)
	s.o.Beside.Go(func() {
		if err := s.stop(context.WithoutCancel(ctx), t, textCancelled, false); err != nil {
			refused <- err
		}
	})
	select {
	case <-t.settled:
		return s.info(t), nil
	case err := <-refused:
		return TaskInfo{}, internal(err)
	case <-ctx.Done():
		return TaskInfo{}, ctx.Err()
	}
}

// Limits of a write to a task.
const (
	maxInput    = 64 << 10
	maxPressure = 30 * time.Second
)

// Input writes to the standard input of a task that has one, one write at a time. A program
// that reads nothing for 30 seconds gets no more input.
func (s *Session) Input(ctx context.Context, p InputParams) error {
	t, bad := s.known(p.TaskID)
	switch {
	case bad != nil:
		return bad
	case !t.pipe:
		return invalid(textStdinClosed, t.id)
	case len(p.Data) > maxInput:
		return invalid(textStdinMost, len(p.Data), maxInput)
	}
	pressure, stop := context.WithTimeout(ctx, maxPressure)
	defer stop()
	select {
	case t.input <- struct{}{}:
		defer func() { <-t.input }()
	case <-pressure.Done():
		return s.stuck(ctx, t)
	}
	s.mu.Lock()
	why := t.badInput
	s.mu.Unlock()
	if why != "" {
		return invalid(textStdinInvalid, why)
	}
	if p.Data != "" {
		if err := dialect.Input(pressure, s.o.Host, messages.WriteInput{Job: messages.JobID(t.id), Data: []byte(p.Data)}); err != nil {
			if pressure.Err() != nil {
				return s.stuck(ctx, t)
			}
			return internal(err)
		}
	}
	if p.Close {
		if err := dialect.CloseInput(ctx, s.o.Host, messages.JobID(t.id)); err != nil {
			return internal(err)
		}
	}
	return nil
}

// stuck closes the input of a task that does not read it. Later writes fail.
func (s *Session) stuck(ctx context.Context, t *task) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	first := t.badInput == ""
	t.badInput = textPressure
	s.mu.Unlock()
	if first {
		if err := dialect.CloseInput(ctx, s.o.Host, messages.JobID(t.id)); err != nil {
			s.o.Log.Warn("the input of a shell task could not be closed", "task", t.id, "error", err)
		}
	}
	return invalid(textStdinInvalid, textPressure)
}

// tagPrefix starts the tags of session jobs. The owner and the origin follow.
const tagPrefix = "codelia"

func tag(owner, origin string) string { return fmt.Sprintf("%s %s %s", tagPrefix, owner, origin) }

func ownerOf(tag string) (string, bool) {
	words := strings.Fields(tag)
	if len(words) != 3 || words[0] != tagPrefix {
		return "", false
	}
	return words[1], true
}

// EndOrphans stops the tasks in a scope whose runtime has died; lives reports whether the owner
// of a task does. It returns the number of such tasks.
func EndOrphans(ctx context.Context, h dialect.Host, scope messages.ScopePath, lives func(owner string) bool) (int, error) {
	jobs, err := dialect.Jobs(ctx, h, messages.ListJobs{Scope: scope})
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, job := range jobs {
		owner, ours := ownerOf(job.Tag)
		if !ours || job.State.Ended() || lives(owner) {
			continue
		}
		n++
		_, err := host.Ask(ctx, h, messages.StopCommand{Job: job.ID, Grace: grace, Reason: textOrphan})
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}
