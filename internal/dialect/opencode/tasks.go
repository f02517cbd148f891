package opencode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Limits of the table of background tasks. A running task costs a process and a follower of
// its output. A full table drops its oldest ended task.
const (
	maxRunning = 32
	maxListed  = 100
)

// Notice reports the end of a background task.
type Notice struct {
	TaskID     string
	Tag        string // task-completed
	Text       string // for the model
	ExitCode   int
	OutputFile string // "": none
}

// task is a command in the background. The session's mutex guards its fields.
type task struct {
	id, command, file, state string
	cut                      error // why the file lacks a part of the output; nil: complete
}

// launch starts a background task.
func (s *Session) launch(ctx context.Context, r messages.RunCommand) (dialect.Result, error) {
	t := &task{id: string(r.UID), command: r.Text, state: stateRunning}
	if s.isClosed() {
		return dialect.Failure(fmt.Sprintf(textNotStarted, textSessionEnded)), nil
	}
	if !s.admit(t) {
		return dialect.Failure(fmt.Sprintf(textTasksMany, maxRunning)), nil
	}
	began := s.options.Now()
	job, _, err := s.options.Host.Run(ctx, r, 0, nil)
	if err == nil && job.End.Outcome == messages.FailedToStart {
		err = &job.End.Err
	}
	if err != nil {
		s.forget(t)
		if ctx.Err() != nil {
			return dialect.Result{}, ctx.Err()
		}
		return dialect.Failure(fmt.Sprintf(textNotStarted, err)), nil
	}
	if s.isClosed() { // Close cannot stop a job that the host does not know yet
		s.forget(t)
		s.endTask(context.WithoutCancel(ctx), t.id)
		return dialect.Failure(fmt.Sprintf(textNotStarted, textSessionEnded)), nil
	}
	out, err := s.outFile(t.id)
	if err != nil {
		s.options.Log.Warn("the output of a task has no file", "task", t.id, "error", err)
	} else {
		s.mu.Lock()
		t.file = out.Name()
		s.mu.Unlock()
	}
	s.options.Beside.Go(func() { s.watch(t, out) })
	m := times(job, began, s.options.Now())
	m.Description, m.TaskID, m.TempFilePath = r.Description, t.id, t.file
	text := fmt.Sprintf(textTaskNoFile, t.id)
	if t.file != "" {
		text = fmt.Sprintf(textTaskStarted, t.id, t.file)
	}
	return dialect.Result{Text: text, Details: &m}, nil
}

// admit adds a task to the table and drops the oldest ended one if the table is full.
func (s *Session) admit(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, have := range s.tasks {
		if have.state == stateRunning {
			running++
		}
	}
	if running >= maxRunning || s.closed {
		return false
	}
	if ended := func(t *task) bool { return t.state != stateRunning }; len(s.tasks) >= maxRunning+maxListed {
		at := slices.IndexFunc(s.tasks, ended)
		s.tasks = slices.Delete(s.tasks, at, at+1)
	}
	s.tasks = append(s.tasks, t)
	return true
}

func (s *Session) forget(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = slices.DeleteFunc(s.tasks, func(have *task) bool { return have == t })
}

// outFile creates the file for a task's output.
func (s *Session) outFile(id string) (*os.File, error) {
	if s.s.DataDir == "" {
		return nil, fmt.Errorf("DataDir is not set")
	}
	dir := filepath.Join(s.s.DataDir, "tasks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, id+".out"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// watch writes a running task's output to its file and reports the end of the task.
func (s *Session) watch(t *task, out *os.File) {
	if out != nil {
		err := errors.Join(s.follow(messages.JobID(t.id), out), out.Close())
		if err != nil && s.ctx.Err() == nil {
			s.options.Log.Warn("the output of a task could not be written", "task", t.id, "error", err)
			s.mu.Lock()
			t.cut = err
			s.mu.Unlock()
		}
	}
	job, err := dialect.WaitEnd(s.ctx, s.options.Host, messages.JobID(t.id))
	if s.ctx.Err() != nil {
		return // after Close no notice is sent
	}
	if err != nil {
		job = messages.Record{End: messages.End{Outcome: messages.Lost, Err: messages.Error{Message: err.Error()}}}
	}
	if n, tell := s.ended(t, job); tell && s.options.Notify != nil {
		s.options.Notify(n)
	}
}

// follow writes a stream as it grows, until it ends.
func (s *Session) follow(id messages.JobID, out *os.File) error {
	var again dialect.Backoff
	for from := int64(0); ; {
		b, err := s.options.Host.Bytes(s.ctx, id, messages.Merged, from, followPiece, true)
		if dialect.IsTransient(err) && again.Wait(s.ctx) == nil {
			continue
		}
		if err != nil {
			return err
		}
		again = dialect.Backoff{}
		if _, err := out.Write(b.Data); err != nil {
			return err
		}
		if b.Next <= from {
			return nil
		}
		from = b.Next
	}
}

// followPiece bounds the part of a task's output in memory, in bytes.
const followPiece = 256 << 10

// ended records the end of a task. tell is false after Close.
func (s *Session) ended(t *task, job messages.Record) (n Notice, tell bool) {
	how := s.s.ending(job)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case how == "":
		t.state, how = stateCompleted, textTaskOK
	case job.End.Outcome == messages.Cancelled:
		t.state = stateStopped
	default:
		t.state = stateFailed
	}
	n = Notice{TaskID: t.id, Tag: textCompletedTag, ExitCode: job.ExitCode(), OutputFile: t.file, Text: fmt.Sprintf(textTaskEndedNo, t.id, brief(t.command), how)}
	if t.file != "" {
		n.Text = fmt.Sprintf(textTaskEnded, t.id, brief(t.command), how, t.file)
	}
	if t.cut != nil {
		n.Text += "\n" + fmt.Sprintf(textTaskFileCut, t.cut)
	}
	return n, !s.closed
}

func (s *Session) running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, t := range s.tasks {
		if t.state == stateRunning {
			ids = append(ids, t.id)
		}
	}
	return ids
}

func names(ids []string) string { return strings.Join(ids, ", ") }

// TaskList lists the background tasks in starting order.
func (s *Session) TaskList() dialect.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, t := range s.tasks {
		line := fmt.Sprintf(textTaskLine, t.id, t.state, brief(t.command))
		if t.file != "" {
			line += "\n  " + t.file
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		return dialect.Result{Text: textNoTasks}
	}
	return dialect.Result{Text: strings.Join(all, "\n")}
}

// TaskStop stops a background task. Its end is reported as for any other task.
func (s *Session) TaskStop(ctx context.Context, p TaskParams) (dialect.Result, error) {
	if p.TaskID == "" {
		return dialect.Failure(textNoTaskID), nil
	}
	s.mu.Lock()
	at := slices.IndexFunc(s.tasks, func(t *task) bool { return t.id == p.TaskID })
	over := at >= 0 && s.tasks[at].state != stateRunning
	s.mu.Unlock()
	switch {
	case at < 0:
		return dialect.Failure(fmt.Sprintf(textTaskMissing, p.TaskID)), nil
	case over:
		return dialect.Result{Text: fmt.Sprintf(textTaskOver, p.TaskID)}, nil
	}
	stopped, err := host.Ask(ctx, s.options.Host, messages.StopCommand{Job: messages.JobID(p.TaskID), Grace: grace})
	switch {
	case ctx.Err() != nil:
		return dialect.Result{}, ctx.Err()
	case err != nil:
		return dialect.Failure(err.Error()), nil
	case stopped.Already:
		return dialect.Result{Text: fmt.Sprintf(textTaskOver, p.TaskID)}, nil
	}
	return dialect.Result{Text: fmt.Sprintf(textTaskStopped, p.TaskID)}, nil
}

// stopAll stops the running tasks.
func (s *Session) stopAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, id := range s.running() { // in parallel: each may take its grace
		all.Add(1)
		s.options.Beside.Go(func() {
			defer all.Done()
			s.endTask(ctx, id)
		})
	}
	all.Wait()
}

func (s *Session) endTask(ctx context.Context, id string) {
	if _, err := host.Ask(ctx, s.options.Host, messages.StopCommand{Job: messages.JobID(id), Grace: grace, Reason: textSessionEnded}); err != nil {
		s.options.Log.Warn("a task could not be stopped", "task", id, "error", err)
	}
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// brief returns a command in one line of at most 60 characters.
func brief(command string) string {
	line := strings.Join(strings.Fields(command), " ")
	if runes := []rune(line); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return line
}
