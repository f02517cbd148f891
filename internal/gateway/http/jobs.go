package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// noState matches no job: a list of it returns only the announced tasks.
const noState messages.State = "none"

// list returns the jobs at and below a scope, oldest first.
func (c *request) list() error {
	r, err := read[messages.ListJobs](c)
	if err != nil {
		return err
	}
	var state messages.State
	if len(r.States) > 0 {
		state = r.States[0]
	}
	if !slices.Contains([]messages.State{
		"", messages.Queued, messages.Starting, messages.Running, messages.Stopping, messages.Draining, messages.Finished,
	}, state) {
		return messages.Invalid("state", fmt.Sprintf("invalid state %.64q: use queued, starting, running, stopping, draining or finished", state))
	}
	tasks, err := ask(c, messages.ListJobs{Scope: r.Scope, States: []messages.State{noState}})
	if err != nil {
		return err
	}
	jobs, err := c.jobsWithSizes(r.Scope, r.Finished || state == messages.Finished)
	if err != nil {
		return err
	}
	if state != "" {
		jobs = slices.DeleteFunc(jobs, func(j messages.Record) bool {
			return j.State != state && !(state == messages.Finished && j.State.Ended())
		})
	}
	return c.reply(http.StatusOK, messages.JobList{Jobs: jobs, Tasks: tasks.Tasks})
}

// Bounds of the wait for the output sizes of live jobs: sizedFor and sizedEach for each
// job. A keeper reports one in a tenth of that, unless it is stopped by SIGSTOP.
const (
	sizedFor  = time.Second
	sizedEach = time.Millisecond
)

// jobsWithSizes returns the jobs at and below a scope with the sizes of their outputs. If
// these are late, or another list still waits for sizes, it returns the node's own
// records. Live jobs have no output in them.
func (c *request) jobsWithSizes(scope messages.ScopePath, finished bool) ([]messages.Record, error) {
	var jobs []messages.Record
	var err error
	sized := make(chan struct{})
	waits := c.unsized.Load() == 0
	if waits {
		go func() {
			defer close(sized)
			jobs, err = c.node.Jobs(c.ctx, scope, finished)
		}()
		if inTime(sized, sizedFor) {
			return jobs, err
		}
	}
	known, kerr := ask(c, messages.ListJobs{Scope: scope, Finished: finished})
	live := withoutSizes(known.Jobs)
	if waits {
		if inTime(sized, time.Duration(live)*sizedEach) {
			return jobs, err
		}
		c.waitsOn(sized)
	}
	return known.Jobs, kerr
}

// withoutSizes removes the outputs of live jobs and returns the number of these jobs.
func withoutSizes(jobs []messages.Record) (live int) {
	for i := range jobs {
		if !jobs[i].State.Ended() {
			jobs[i].Output = nil
			live++
		}
	}
	return live
}

// waitsOn makes other lists skip sizes until late ones arrive.
func (c *request) waitsOn(sized <-chan struct{}) {
	c.unsized.Add(1)
	go func() {
		<-sized
		c.unsized.Add(-1)
	}()
}

// setSizes puts the sizes of outputs into records, with the bounds of jobsWithSizes.
func (c *request) setSizes(jobs []messages.Record) []messages.Record {
	if c.unsized.Load() == 0 {
		all, sized := slices.Clone(jobs), make(chan struct{})
		go func() {
			defer close(sized)
			c.node.Measure(all)
		}()
		if inTime(sized, sizedFor) {
			return all
		}
		c.waitsOn(sized)
	}
	withoutSizes(jobs)
	return jobs
}

// inTime waits for an event and reports whether it came in time.
func inTime(event <-chan struct{}, patience time.Duration) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-event:
		return true
	case <-late.C:
		return false
	}
}

func (c *request) show() error {
	job, err := c.node.Job(c.ctx, c.id())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, job)
}

// removeAll removes each of some jobs. A refused one does not stop the others.
func (c *request) removeAll() error {
	asked, err := c.decoded(maxBody)
	if err != nil {
		return err
	}
	jobs := asked.(api.Remove).Jobs
	if n := len(jobs); n == 0 || n > api.MaxRemoved {
		return messages.Invalid("jobs", fmt.Sprintf("the request names %d jobs; name 1 to %d", n, api.MaxRemoved))
	}
	var out api.Removed
	for _, id := range jobs {
		gone, err := ask(c, messages.RemoveJob{Job: c.job(id)})
		var refused *messages.Error
		switch {
		case err == nil:
			out.Jobs = append(out.Jobs, gone.Job)
		case errors.As(err, &refused):
			out.Refused = append(out.Refused, api.Refused{Job: id, Error: *refused})
		default:
			return err
		}
	}
	return c.reply(http.StatusOK, out)
}
