package copilot

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// Listing holds the details of a list: the tasks that it shows, what is remembered of the
// shells, and how often each operation met each category and status.
type Listing struct {
	Shells []Task `json:"shells"`
	Views
	Counts map[string]int64 `json:"counts"` // by "operation/category"
}

// List lists the shells and the detached commands.
func (s *Session) List(ctx context.Context) (dialect.Result, error) {
	var texts []string
	tasks := []Task{}
	for _, e := range s.all() {
		s.mu.Lock()
		st, sh := e.standing(), s.shells[e.id]                                                  // of one moment: the line and the task agree
		if _, read := e.out.read(); st.stopped || st.over && sh == nil && !e.detached && read { // nothing is left to show
			s.mu.Unlock()
			continue
		}
		l := Listed{
			ID: e.id, Command: e.command, Mode: ModeSync, AttachmentMode: Attached, Status: st.status, Ended: st.over, Code: st.exit, Why: st.why,
			Elapsed: e.until(st, s.options.Now()), Commands: 1,
		}
		if e.async {
			l.Mode = ModeAsync
		}
		if e.detached {
			l.AttachmentMode = Detached
		}
		if sh != nil {
			l.Commands = sh.commands
		}
		s.mu.Unlock()
		t := s.task(ctx, e, st)
		job := s.lookUp(ctx, e, st)
		l.PID, l.Unread, t.PID = job.PID, unread(e, job), job.PID
		texts, tasks = append(texts, l.Text()), append(tasks, t)
	}
	if err := ctx.Err(); err != nil {
		return dialect.Result{}, err
	}
	if len(texts) == 0 {
		texts = []string{listNone}
	}
	return dialect.Result{Text: strings.Join(texts, "\n"), Details: s.listing(tasks)}, nil
}

// all returns the tasks in starting order.
func (s *Session) all() []*execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

// until returns how long a command has run.
func (e *execution) until(st shellState, now time.Time) time.Duration {
	if st.over {
		now = st.at
	}
	return max(0, now.Sub(e.began))
}

// lookUp returns the current record of a command that runs, or the last known one.
func (s *Session) lookUp(ctx context.Context, e *execution, st shellState) messages.Record {
	if st.over {
		return st.record
	}
	job, err := dialect.Job(ctx, s.options.Host, e.job())
	if err != nil {
		return st.record
	}
	return job
}

// unread reports whether a command has written output that no call has read, or has ended
// and no call has reported it.
func unread(e *execution, job messages.Record) bool {
	from, all := e.out.read()
	if all {
		return false
	}
	for _, o := range job.Output {
		if o.Bytes > from {
			return true
		}
	}
	return job.State.Ended()
}

// task returns the view of a command without its pid. It reads the progress after st was
// taken, so that the output of an ended command is complete.
func (s *Session) task(ctx context.Context, e *execution, st shellState) Task {
	progress := s.progress(ctx, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Task{
		Type: "shell", ID: e.id, Description: e.description, Status: st.status, StartedAt: e.began, Command: e.command, LogPath: e.logPath,
		AttachmentMode: Attached, ExecutionMode: e.mode(), CanPromoteToBackground: e.promotable(), Progress: progress,
	}
	if e.detached {
		t.AttachmentMode = Detached
	}
	if st.over {
		at := st.at
		t.CompletedAt = &at
	}
	return t
}

// Heard reports whether a tool has shown the end of an id's last command. A host that gives
// notices to the model skips the notice then.
func (s *Session) Heard(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tasks[id]
	if e == nil || !e.ended {
		return false
	}
	_, all := e.out.read()
	return all
}

// promotable reports whether a command can be promoted: a call waits for it, and it has
// started and not ended. The caller holds the session's mutex.
func (e *execution) promotable() bool { return e.started && !e.ended && !e.background }

// listing returns the details of a list of tasks.
func (s *Session) listing(tasks []Task) *Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Listing{Shells: tasks, Views: s.views(), Counts: maps.Clone(s.counts)}
}

// views returns what is remembered of the shells. The caller holds s.mu.
func (s *Session) views() Views {
	v := Views{Sessions: []string{}, CurrentExecutions: []string{}, DetachedSessions: []string{}, RetainedAttachedShellTasks: []string{}, RecentShutdowns: slices.Clone(s.shutdowns)}
	for id := range s.shells {
		v.Sessions = append(v.Sessions, id)
	}
	slices.Sort(v.Sessions)
	for _, e := range s.order {
		sh := s.shells[e.id]
		switch {
		case e.detached:
			v.DetachedSessions = append(v.DetachedSessions, e.id)
		case sh != nil && sh.last == e:
			v.CurrentExecutions = append(v.CurrentExecutions, e.id)
		}
		if !e.detached && e.ended && e.background {
			v.RetainedAttachedShellTasks = append(v.RetainedAttachedShellTasks, e.id)
		}
	}
	return v
}
