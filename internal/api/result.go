package api

import (
	"errors"
	"time"

	"troupe/messages"
)

// Result is the reply of POST /v1/jobs: the job object, with text and truncated if the request
// asked for text.
type Result struct {
	Job  messages.Record
	Text *Shown
}

// Shown is the end of a job's output, bounded.
type Shown struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
	Redrawn   bool   `json:"redrawn,omitzero"` // a final text of the output may differ
}

// MarshalJSON implements json.Marshaler. It merges the fields of both into one object.
func (r Result) MarshalJSON() ([]byte, error) {
	job, err := r.Job.MarshalJSON()
	if err != nil || r.Text == nil {
		return job, err
	}
	text, err := messages.MarshalReply(r.Text)
	if err != nil {
		return nil, err
	}
	return append(append(job[:len(job)-1], ','), text[1:]...), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Result) UnmarshalJSON(b []byte) error {
	var o struct {
		Text      *string `json:"text"`
		Truncated bool    `json:"truncated"`
		Redrawn   bool    `json:"redrawn"`
	}
	if err := errors.Join(r.Job.UnmarshalJSON(b), messages.UnmarshalReply(b, &o)); err != nil {
		return err
	}
	r.Text = nil
	if o.Text != nil {
		r.Text = &Shown{*o.Text, o.Truncated, o.Redrawn}
	}
	return nil
}

// Remove asks to remove several finished jobs and their output.
type Remove struct {
	Jobs []messages.JobID `json:"jobs"`
}

// MaxRemoved bounds the jobs of one request.
const MaxRemoved = 1000

// Removed is the reply of POST /v1/remove. Each requested job is in one of the two lists.
type Removed struct {
	V       messages.Version  `json:"v"`
	Jobs    []messages.Record `json:"jobs"` // records before the removal
	Refused []Refused         `json:"refused"`
}

// Refused is a job that was not removed, and why.
type Refused struct {
	Job   messages.JobID `json:"job"` // id from the request
	Error messages.Error `json:"error"`
}

// EndLease asks for the end of a lease, and of its scope if it is the last one.
type EndLease struct {
	ID     string        `json:"-" path:"id"`
	Grace  time.Duration `json:"-" query:"grace_ms"` // as in messages.ReleaseScope
	Reason string        `json:"-" query:"reason"`
}

// Stats is the reply of GET /v1/stats.
type Stats struct {
	V             messages.Version       `json:"v"`
	Jobs          map[messages.State]int `json:"jobs"` // by state
	Scopes        int                    `json:"scopes"`
	Sessions      int                    `json:"sessions"`
	Connections   int                    `json:"connections"`
	Subscriptions int                    `json:"subscriptions"`
	UptimeMS      int64                  `json:"uptime_ms"`
	Version       string                 `json:"version"` // of the daemon, as in About
	PID           int                    `json:"pid"`
}

// Health is the reply of GET /v1/health.
type Health struct {
	V       messages.Version `json:"v"`
	OK      bool             `json:"ok"`
	Keeper  string           `json:"keeper"`  // why the keeper does not answer; "": it does
	Journal string           `json:"journal"` // why the journal cannot be written and no new job is admitted; "": it can
}

// About is the reply of GET /v1/version.
type About struct {
	V       messages.Version `json:"v"`
	Version string           `json:"version"`
	PID     int              `json:"pid"`
	State   string           `json:"state"`            // the daemon's directory; "": none
	Keeper  string           `json:"keeper"`           // version of the keeper; "": none
	Faults  string           `json:"faults,omitempty"` // the plan of faults that happen to its jobs; "": none
}

// ErrorBody is the body of every error.
type ErrorBody struct {
	V     messages.Version `json:"v"`
	Error messages.Error   `json:"error"`
}
