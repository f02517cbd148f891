package http

import (
	"net/http"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
	"troupe/spill/view"
)

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 256

// run runs a command and answers with its record, finished or in the background.
func (c *request) run() error {
	most, err := c.query.Number("text", 0, 1, view.MaxBytes)
	if err != nil {
		return err
	}
	asked, err := c.decoded(maxRun)
	if err != nil {
		return err
	}
	r := asked.(messages.RunCommand)
	if r.Stdin == messages.StdinHost {
		return messages.Invalid("stdin", "stdin host does not work through the daemon; use null or pipe")
	}
	if r.Key, err = c.key(); err != nil {
		return err
	}
	c.waitsIn(&r)
	at, refusal := c.runsIn(&r)
	if refusal != nil {
		return refusal
	}
	r.Principal = c.principal()
	if r.UID == "" {
		r.UID = messages.UID(ulid.Make().String())
	}
	var submitted Submitted
	if err := c.begin(at, func() error { submitted = c.node.Submit(r); return nil }); err != nil {
		return err
	}
	if c.prefers(api.Processing) && c.r.ProtoAtLeast(1, 1) { // an HTTP/1.0 client would take a 102 for the reply (RFC 9110, 15.2)
		c.announce(r.UID)
	}
	job, err := submitted.Wait(c.ctx)
	if err != nil {
		return err
	}
	c.locate(job.UID)
	status := http.StatusOK
	if !job.State.Ended() {
		status = http.StatusAccepted
	}
	return c.reply(status, api.Result{Job: job, Text: c.shown(job, int(most))})
}

// runsIn returns the scope of a run, which it limits to that of the client. A rerun that names
// none has that of its job; one of an unknown job is left to the node.
func (c *request) runsIn(r *messages.RunCommand) (at messages.ScopePath, refusal *messages.Error) {
	if r.RerunOf != "" {
		r.RerunOf = c.job(r.RerunOf)
		if r.Scope == "" {
			found, _ := ask(c, messages.FindJob{Job: r.RerunOf})
			return found.Job.Scope, nil
		}
	}
	r.Scope, refusal = c.inScope(r.Scope)
	return r.Scope, refusal
}

// waitsIn takes the jobs that a run waits for from the scope of the client.
func (c *request) waitsIn(r *messages.RunCommand) {
	for i := range r.After {
		r.After[i].Job = c.job(r.After[i].Job)
	}
	if r.CalledBy != "" {
		r.CalledBy = c.job(r.CalledBy)
	}
}

// key returns the idempotency key of the request, "" if it has none. An empty one is an
// error: its sender expects a run that is not repeated.
func (c *request) key() (string, error) {
	switch given := c.r.Header.Values(api.KeyHeader); {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		return "", messages.Invalid("key", "the Idempotency-Key is given twice")
	case given[0] == "":
		return "", messages.Invalid("key", "the Idempotency-Key is empty; give a value or leave it out")
	case len(given[0]) > maxKey:
		return "", messages.Invalid("key", "the Idempotency-Key is longer than 256 bytes")
	default:
		return given[0], nil
	}
}

// announce sends the job's location to its caller while it runs. A refused run, or one
// that joins another job by its key, has no record to announce.
func (c *request) announce(uid messages.UID) {
	if _, err := c.node.Job(c.ctx, messages.JobID(uid)); err == nil {
		c.locate(uid)
		replyInTime(c.w)
		c.w.WriteHeader(http.StatusProcessing)
	}
}

func (c *request) locate(uid messages.UID) {
	c.w.Header().Set("Location", "/v1/jobs/"+string(uid))
}

// shown returns the end of a job's output, nil if it was not requested.
func (c *request) shown(job messages.Record, most int) *api.Shown {
	if most == 0 {
		return nil
	}
	v, err := c.node.View(job, view.Options{Bytes: most, Style: view.Plain})
	if err != nil { // the job never started or its output is removed; the record's sizes tell which
		wrote := false
		for _, o := range job.Output {
			wrote = wrote || o.Bytes > 0
		}
		return &api.Shown{Truncated: wrote}
	}
	return &api.Shown{Text: v.Text, Truncated: v.Truncated, Redrawn: v.Redrawn}
}
