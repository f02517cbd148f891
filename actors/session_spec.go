package actors

import (
	"encoding/json"
	"time"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// spec is the command of a ticket as the shell is to run it.
func (s *session) spec(t *ticket) backends.Command {
	run, job := t.place.run, t.place.job
	c := backends.Command{
		ID: job.UID, Job: job.ID, Text: run.Text, Argv: run.Argv,
		Shell: first(run.Shell, s.open.Shell), Dir: job.Dir, Env: t.place.env, Umask: run.Mask(),
		Stdio:  backends.Stdio{Stdin: run.Stdin, Streams: run.Streams, Terminal: run.Terminal},
		Grace:  lifecycle.Grace(run.Grace),
		OnExit: run.OnExit, Detach: run.Detach,
		Log: plan(run, job.Session),
	}
	if s.can.Outlive {
		c.Meta = meta(job)
	}
	return c
}

func limits(run *messages.RunCommand) lifecycle.Limits {
	return lifecycle.Limits{
		Background: run.Background, PromoteAfter: run.PromoteAfter,
		Timeout: run.Timeout, Grace: run.Grace,
	}
}

func plan(run *messages.RunCommand, session messages.SessionID) spill.Plan {
	p := spill.Plan{
		Group: string(session), Quota: run.Quota.Bytes,
		Policy: spill.Policy(run.Quota.Policy), Durability: spill.Durability(run.Durability),
	}
	if run.Persist {
		p.Inline = -1
	}
	return p
}

// previewLength is how much of a command's text its Meta keeps: enough to tell
// one job from another in a list after a restart.
const previewLength = 512

// metaRecord is what the engine keeps with a job, to rebuild the tree by.
type metaRecord struct {
	Job         messages.JobID     `json:"job"`
	Scope       messages.ScopePath `json:"scope"`
	Session     messages.SessionID `json:"session"`
	Name        string             `json:"name,omitempty"`
	Description string             `json:"description,omitempty"`
	Preview     string             `json:"preview"`
	Mode        messages.Mode      `json:"mode"`
	Background  bool               `json:"background,omitempty"`
	Separate    bool               `json:"separate,omitempty"`
	Created     time.Time          `json:"created"`
}

func meta(job *messages.Job) []byte {
	m := metaRecord{
		Job: job.ID, Scope: job.Scope, Session: job.Session, Name: job.Name, Description: cut(job.Description, previewLength),
		Preview: cut(job.Command, previewLength), Mode: job.Mode, Background: job.Background,
		Separate: len(job.Output) > 1, Created: job.Created,
	}
	b, err := json.Marshal(m)
	if err != nil || len(b) > backends.MaxMeta {
		return nil // the job can still be adopted by its id
	}
	return b
}

// cut is the beginning of s, at most n bytes; JSON repairs a rune that is cut.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
