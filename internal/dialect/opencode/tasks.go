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

	"troupe/internal/dialect"
	"troupe/messages"
)

// Bounds of the table of background tasks: each that runs is a process and a follower of
// its output; of those that ended the last are listed.
const (
	maxRunning = 32
	maxListed  = 100
)

// Notice tells of the end of a background task.
type Notice struct {
	TaskID     string
	Tag        string // task-completed
	Text       string // for the model
	ExitCode   int
	OutputFile string // "": there is none
}

// task is a command in the background. Its fields are guarded by the session's lock.
type task struct {
	id, command, file, state string
	cut                      error // why not all of its output is in the file
}

// launch begins a background task.
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
	if err == nil && job.Outcome == messages.FailedToStart {
		err = &job.Err
	}
	if err != nil {
		s.forget(t)
		if ctx.Err() != nil {
			return dialect.Result{}, ctx.Err()
		}
		return dialect.Failure(fmt.Sprintf(textNotStarted, err)), nil
	}
	if s.isClosed() { // who closed it could not end what the host did not know
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

// admit puts a task into the table, and the oldest that has ended out of it.
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

// outFile makes the file of a task's output, nil where there is no place for it.
func (s *Session) outFile(id string) (*os.File, error) {
	if s.s.DataDir == "" {
		return nil, fmt.Errorf("no DataDir is set")
	}
	dir := filepath.Join(s.s.DataDir, "tasks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, id+".out"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// watch writes the output of a task to its file while it runs, and tells of its end.
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
		return // its session has ended: nobody is told
	}
	if err != nil {
		job = messages.Job{Outcome: messages.Lost, Err: messages.Error{Message: err.Error()}}
	}
	if n, tell := s.ended(t, job); tell && s.options.Notify != nil {
		s.options.Notify(n)
	}
}

// follow writes a stream while it grows, until it ends.
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

// followPiece is how much of a task's output is in memory at a time.
const followPiece = 256 << 10

// ended gives a task its end, and says whether it is to be told.
func (s *Session) ended(t *task, job messages.Job) (n Notice, tell bool) {
	how := s.s.ending(job)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case how == "":
		t.state, how = stateCompleted, textTaskOK
	case job.Outcome == messages.Cancelled:
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

// TaskList tells of the background tasks, as they began.
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

// TaskStop ends a background task; its end is told as any.
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
	stopped, err := s.options.Host.Stop(ctx, messages.StopCommand{Job: messages.JobID(p.TaskID), Grace: grace})
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

// stopAll ends the tasks of a session that ends.
func (s *Session) stopAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, id := range s.running() { // at once: each may take its grace
		all.Add(1)
		s.options.Beside.Go(func() {
			defer all.Done()
			s.endTask(ctx, id)
		})
	}
	all.Wait()
}

func (s *Session) endTask(ctx context.Context, id string) {
	if _, err := s.options.Host.Stop(ctx, messages.StopCommand{Job: messages.JobID(id), Grace: grace, Reason: textSessionEnded}); err != nil {
		s.options.Log.Warn("a task could not be stopped", "task", id, "error", err)
	}
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// brief is a command in one line.
func brief(command string) string {
	line := strings.Join(strings.Fields(command), " ")
	if runes := []rune(line); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return line
}
