package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// noState is that of no job: a list of it holds the announced tasks alone.
const noState messages.State = "none"

// list tells the jobs at and below a scope, oldest first.
func (c *request) list() error {
	finished, err := c.flag("finished")
	if err != nil {
		return err
	}
	scope, err := c.scope("scope")
	if err != nil {
		return err
	}
	state := messages.State(c.text("state"))
	if !slices.Contains([]messages.State{
		"", messages.Queued, messages.Starting, messages.Running, messages.Stopping, messages.Draining, messages.Finished,
	}, state) {
		return messages.Invalid("state", "there is no such state; use queued, starting, running, stopping, draining or finished")
	}
	finished = finished || state == messages.Finished
	tasks, err := ask[messages.JobList](c, messages.ListJobs{Scope: scope, States: []messages.State{noState}})
	if err != nil {
		return err
	}
	jobs, err := c.withSizes(scope, finished)
	if err != nil {
		return err
	}
	if state != "" {
		jobs = slices.DeleteFunc(jobs, func(j messages.Job) bool {
			return j.State != state && !(state == messages.Finished && j.State.Ended())
		})
	}
	return c.reply(http.StatusOK, wire.JobList{V: wire.Version, Jobs: wire.Jobs(jobs), Tasks: wire.List(tasks.Tasks)})
}

// How long a list waits for the sizes of what live jobs have printed, and how much
// longer for each of them: their keeper tells one in a tenth of that, unless somebody
// has stopped it.
const (
	sizedFor  = time.Second
	sizedEach = time.Millisecond
)

// withSizes are the jobs at and below a scope with the sizes of their outputs. If these are
// not told in time, or another list still waits for them, they are those that the node
// knows: of a live job nothing is said of its output then.
func (c *request) withSizes(scope messages.ScopePath, finished bool) ([]messages.Job, error) {
	var jobs []messages.Job
	var err error
	told := make(chan struct{})
	waits := c.unsized.Load() == 0
	if waits {
		go func() {
			defer close(told)
			jobs, err = c.node.Jobs(c.ctx, scope, finished)
		}()
		if heard(told, sizedFor) {
			return jobs, err
		}
	}
	known, kerr := ask[messages.JobList](c, messages.ListJobs{Scope: scope, Finished: finished})
	live := withoutSizes(known.Jobs)
	if waits {
		if heard(told, time.Duration(live)*sizedEach) {
			return jobs, err
		}
		c.waitsOn(told)
	}
	return known.Jobs, kerr
}

// withoutSizes says nothing of the outputs of live jobs, and how many these are.
func withoutSizes(jobs []messages.Job) (live int) {
	for i := range jobs {
		if !jobs[i].State.Ended() {
			jobs[i].Output = nil
			live++
		}
	}
	return live
}

// waitsOn has nobody else wait for sizes until those that are late are told.
func (c *request) waitsOn(told <-chan struct{}) {
	c.unsized.Add(1)
	go func() {
		<-told
		c.unsized.Add(-1)
	}()
}

// setSizes puts the sizes of outputs into records, as sized does.
func (c *request) setSizes(jobs []messages.Job) []messages.Job {
	if c.unsized.Load() == 0 {
		all, told := slices.Clone(jobs), make(chan struct{})
		go func() {
			defer close(told)
			c.node.Measure(all)
		}()
		if heard(told, sizedFor) {
			return all
		}
		c.waitsOn(told)
	}
	withoutSizes(jobs)
	return jobs
}

// heard waits for an event, and reports false if it was too late.
func heard(event <-chan struct{}, patience time.Duration) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-event:
		return true
	case <-late.C:
		return false
	}
}

// scope is a parameter that is a scope's path, or absent.
func (c *request) scope(name string) (messages.ScopePath, error) {
	path := messages.ScopePath(c.text(name))
	if path != "" {
		if err := path.Check(); err != nil {
			return "", err
		}
	}
	return path, nil
}

func (c *request) show() error {
	job, err := c.node.Job(c.ctx, c.id())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Job{Job: job})
}

// remove forgets a finished job and its output, and answers with its record.
func (c *request) remove() error {
	gone, err := ask[messages.JobFound](c, messages.RemoveJob{Job: c.id()})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Job{Job: gone.Job})
}

// removeAll does so for each of some jobs: one that is refused hinders no other.
func (c *request) removeAll() error {
	var body wire.Remove
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	if n := len(body.Jobs); n == 0 || n > wire.MaxRemoved {
		return messages.Invalid("jobs", fmt.Sprintf("the request names %d jobs; name one at least, and at most %d", n, wire.MaxRemoved))
	}
	out := wire.Removed{V: wire.Version, Jobs: []wire.Job{}, Refused: []wire.Refused{}}
	for _, id := range body.Jobs {
		gone, err := ask[messages.JobFound](c, messages.RemoveJob{Job: messages.JobID(id)})
		var refused *messages.Error
		switch {
		case err == nil:
			out.Jobs = append(out.Jobs, wire.Job{Job: gone.Job})
		case errors.As(err, &refused):
			out.Refused = append(out.Refused, wire.Refused{Job: id, Error: *refused})
		default:
			return err
		}
	}
	return c.reply(http.StatusOK, out)
}
