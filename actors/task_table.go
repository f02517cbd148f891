package actors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"troupe/messages"
)

// taskTable holds the announced tasks: at most MaxTasks live ones and MaxEndedTasks ended ones.
type taskTable map[taskKey]messages.Task

type taskKey struct {
	scope messages.ScopePath
	id    messages.TaskID
}

// announce adds a task, or changes a live one.
func (t taskTable) announce(r messages.AnnounceTask, now time.Time) *messages.Error {
	key := taskKey{cmp.Or(r.Scope, messages.MainScope), r.ID}
	task, known := t[key]
	if known && task.Ended {
		delete(t, key)
		known = false
	}
	switch {
	case known:
	case t.live() >= messages.MaxTasks:
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "tasks",
			Message: fmt.Sprintf("limit of %d announced tasks reached", messages.MaxTasks), Hint: "end some first",
		}
	default:
		task = messages.Task{ID: key.id, Scope: key.scope, Kind: messages.DefaultTaskKind, State: messages.TaskRunning, Since: now}
	}
	task.Kind, task.Description, task.State = cmp.Or(r.Kind, task.Kind), cmp.Or(r.Description, task.Description), cmp.Or(r.State, task.State)
	t[key] = task
	return nil
}

// update changes a task. A client that ends a lost task corrects its state.
func (t taskTable) update(r messages.UpdateTask, now time.Time) *messages.Error {
	key := taskKey{cmp.Or(r.Scope, messages.MainScope), r.ID}
	task, known := t[key]
	if !known {
		return &messages.Error{
			Code: messages.NotFound, Reason: "task", Message: fmt.Sprintf("task %.80q was not announced in scope %s", string(key.id), key.scope), Hint: "announce it first",
		}
	}
	if r.Ended && r.State == "" && task.State == messages.TaskRunning {
		r.State = messages.TaskCompleted
	}
	task.Description, task.State = cmp.Or(r.Description, task.Description), cmp.Or(r.State, task.State)
	t.set(key, task, r.Ended, now)
	return nil
}

// end ends the live tasks at and below a scope, which has ended before them.
func (t taskTable) end(scope messages.ScopePath, now time.Time) {
	for key, task := range t {
		if scope.Contains(key.scope) && !task.Ended {
			task.State = messages.TaskLost
			t.set(key, task, true, now)
		}
	}
}

// set stores a task that may end now. It removes the task that ended first if there are too many.
func (t taskTable) set(key taskKey, task messages.Task, ends bool, now time.Time) {
	if ends && !task.Ended {
		task.Ended, task.EndedAt = true, now
	}
	t[key] = task
	if len(t)-t.live() > messages.MaxEndedTasks {
		first := key
		for k, other := range t {
			if other.Ended && (other.EndedAt.Before(t[first].EndedAt) || !t[first].Ended) {
				first = k
			}
		}
		delete(t, first)
	}
}

func (t taskTable) live() (n int) {
	for _, task := range t {
		if !task.Ended {
			n++
		}
	}
	return n
}

// list returns the tasks at and below a scope, the oldest first; "" means all.
func (t taskTable) list(scope messages.ScopePath, ended bool) (all []messages.Task) {
	for task := range maps.Values(t) {
		if (scope == "" || scope.Contains(task.Scope)) && (ended || !task.Ended) {
			all = append(all, task)
		}
	}
	slices.SortFunc(all, func(a, b messages.Task) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	return all
}
