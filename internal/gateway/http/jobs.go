package http

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// list returns the jobs at and below a scope, oldest first.
func (c *request) list() error {
	r, err := read[messages.ListJobs](c)
	if err != nil {
		return err
	}
	if states := api.Values(messages.Queued); len(r.States) > 0 && !slices.Contains(states, string(r.States[0])) {
		return messages.Invalid("state", fmt.Sprintf("invalid state %.64q: use one of %s", r.States[0], strings.Join(states, ", ")))
	}
	if _, err := ulid.ParseStrict(r.Cursor); r.Cursor != "" && err != nil {
		return messages.Invalid("cursor", fmt.Sprintf("invalid cursor %.64q: use the next of the page before", r.Cursor))
	}
	list, err := ask(c, r)
	if err != nil {
		return err
	}
	list.Jobs = c.setSizes(list.Jobs)
	if r.Live && c.unsized.Load() == 0 { // else a keeper does not answer
		c.node.ReadLive(c.ctx, list.Jobs)
	}
	return c.reply(http.StatusOK, list)
}

// Bounds of the wait for the output sizes of live jobs: sizedFor, and sizedEach for each
// job. A keeper reports one in a tenth of that, unless it is stopped by SIGSTOP.
const (
	sizedFor  = time.Second
	sizedEach = time.Millisecond
)

// jobsWithoutSizes removes the outputs of live jobs and returns the number of these jobs.
func jobsWithoutSizes(jobs []messages.Record) (live int) {
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

// setSizes puts the sizes of outputs into records. If these are late, or another list
// still waits for sizes, live jobs have no output in them.
func (c *request) setSizes(jobs []messages.Record) []messages.Record {
	if c.unsized.Load() > 0 {
		jobsWithoutSizes(jobs)
		return jobs
	}
	all, sized := slices.Clone(jobs), make(chan struct{})
	go func() {
		defer close(sized)
		c.node.Measure(all)
	}()
	live := jobsWithoutSizes(jobs)
	if inTime(sized, sizedFor+time.Duration(live)*sizedEach) {
		return all
	}
	c.waitsOn(sized)
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
	r, err := read[messages.FindJob](c)
	if err != nil {
		return err
	}
	job, err := c.node.Job(c.ctx, c.id())
	if err != nil {
		return err
	}
	one := []messages.Record{job}
	if r.Live {
		c.node.ReadLive(c.ctx, one)
	}
	return c.reply(http.StatusOK, one[0])
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

// announceTask adds a task to the list. One that comes late, from a client whose lease has
// ended, is refused: no client would end it.
func (c *request) announceTask() error {
	r, err := read[messages.AnnounceTask](c)
	if err != nil {
		return err
	}
	r.Scope = cmp.Or(r.Scope, messages.MainScope)
	return c.opens(r.Scope, r)
}
