package omp

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// JobStatus is the status of a background job.
type JobStatus string

// The statuses. The last three are final.
const (
	JobRunning   JobStatus = "running"
	JobCompleted JobStatus = "completed"
	JobFailed    JobStatus = "failed"
	JobCancelled JobStatus = "cancelled"
)

// The types of jobs.
const (
	TypeBash = "bash"
	TypeTask = "task"
)

// JobRecord is the record of a background job.
type JobRecord struct {
	ID         string
	Type       string
	Status     JobStatus
	StartTime  time.Time
	EndTime    time.Time // zero while the job runs
	Label      string
	OwnerID    string
	ResultText string
	ErrorText  string
	Job        messages.JobID // id in the node; "" until known
}

func (r JobRecord) duration(now time.Time) time.Duration {
	if !r.EndTime.IsZero() {
		now = r.EndTime
	}
	return max(0, now.Sub(r.StartTime))
}

// text returns the result or the error of the job.
func (r JobRecord) text() string {
	if r.ErrorText != "" {
		return r.ErrorText
	}
	return r.ResultText
}

// JobDetails holds the details of the tool job.
type JobDetails struct {
	Jobs      []JobEntry     `json:"jobs"`
	Cancelled []CancelledJob `json:"cancelled,omitempty"`
}

// JobEntry is one job in JobDetails.
type JobEntry struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Status     JobStatus `json:"status"`
	Label      string    `json:"label"`
	DurationMs int64     `json:"durationMs"`
	ResultText string    `json:"resultText,omitempty"`
	ErrorText  string    `json:"errorText,omitempty"`
}

// CancelledJob is the result of the request to cancel a job.
type CancelledJob struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// Results of such a request.
const (
	cancelDone    = "cancelled"
	cancelUnknown = "not_found"
	cancelLate    = "already_completed"
)

// jobReport is what one call of the tool job has found.
type jobReport struct {
	jobs    []JobRecord
	cancels []CancelledJob
	ended   map[string]JobStatus // of jobs that had ended before a cancellation
	missing []string             // requested ids without a job
	note    string
	now     time.Time
}

// result renders the report as markdown and as details.
func (r jobReport) result() dialect.Result {
	var parts []string
	d := &JobDetails{Jobs: []JobEntry{}, Cancelled: r.cancels}
	parts = append(parts, r.cancelSections()...)
	var over, running []string
	for _, j := range r.jobs {
		d.Jobs = append(d.Jobs, JobEntry{
			ID: j.ID, Type: j.Type, Status: j.Status, Label: j.Label, DurationMs: j.duration(r.now).Milliseconds(),
			ResultText: j.ResultText, ErrorText: j.ErrorText,
		})
		if j.Status == JobRunning {
			running = append(running, j.markdown())
			continue
		}
		over = append(over, j.markdown())
	}
	parts = append(parts, section(textHeadEnded, over), section(textHeadRunning, running))
	if len(r.missing) > 0 && (len(r.jobs) > 0 || len(r.cancels) > 0) {
		parts = append(parts, section(textHeadMissing, eachLine(textNotFound, r.missing)))
	}
	text := blocks(append(parts, r.note)...)
	switch {
	case text == "" && len(r.missing) > 0:
		return dialect.Result{Text: fmt.Sprintf(textNoneMatch, strings.Join(r.missing, ", ")), IsError: true, Details: d}
	case text == "":
		text = textNoJobs
	}
	return dialect.Result{Text: text, Details: d}
}

func (r jobReport) cancelSections() []string {
	var done, refused []string
	for _, c := range r.cancels {
		switch c.Status {
		case cancelDone:
			done = append(done, fmt.Sprintf(textJobCancelled, c.ID))
		case cancelLate:
			refused = append(refused, fmt.Sprintf(textAlready, c.ID, r.ended[c.ID]))
		default:
			refused = append(refused, fmt.Sprintf(textNotFound, c.ID))
		}
	}
	return []string{section(textHeadCancelled, done), section(textHeadRefused, refused)}
}

func eachLine(format string, ids []string) []string {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprintf(format, id))
	}
	return all
}

// section renders a heading with a count and its items, "" without items.
func section(heading string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	between := "\n"
	if strings.HasPrefix(items[0], "#") {
		between = "\n\n"
	}
	return fmt.Sprintf(heading, len(items)) + "\n" + strings.Join(items, between)
}

// markdown renders one job: its id, type, status and label, and its fenced result.
func (r JobRecord) markdown() string {
	text := fmt.Sprintf(textJobLine, r.ID, r.Type, r.Status, oneLine(r.Label))
	switch {
	case r.ErrorText != "":
		return text + "\n" + textJobErrorLine + "\n" + fenced(r.ErrorText)
	case r.ResultText != "":
		return text + "\n" + fenced(r.ResultText)
	}
	return text
}

// oneLine keeps a label on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// fenced puts a text into a fence longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// Limits of a delivered result, in characters.
const (
	deliverWhole = 12_000
	deliverHead  = 4_000
)

// Delivery is the end of a background job as a follow-up message to its owner's session,
// which starts a turn.
type Delivery struct {
	CustomType string // async-result
	Owner      string
	Text       string // for the model
	Details    DeliveryDetails
	Job        messages.JobID
	// Reports whether a tool has shown the end meanwhile. A queue of deliveries then drops
	// it.
	Told func() bool `json:"-"`
}

// DeliveryDetails describes the job.
type DeliveryDetails struct {
	JobID      string `json:"jobId"`
	Type       string `json:"type"`
	Label      string `json:"label"`
	DurationMs int64  `json:"durationMs"`
}

// delivery returns the message for a job. keep saves an overlong text and returns its id,
// "" after an error.
func delivery(r JobRecord, keep func(text string) string) Delivery {
	text, note := r.text(), ""
	if runes := []rune(text); len(runes) > deliverWhole {
		note = fmt.Sprintf(textDeliveredNo, deliverHead, len(runes))
		if id := keep(text); id != "" {
			note = fmt.Sprintf(textDeliveredCut, deliverHead, len(runes), id)
		}
		text = string(runes[:deliverHead])
	}
	return Delivery{
		CustomType: customType, Owner: r.OwnerID, Job: r.Job,
		Text:    fmt.Sprintf(textDelivered, r.ID, oneLine(r.Label), r.Status, text) + note,
		Details: DeliveryDetails{JobID: r.ID, Type: r.Type, Label: r.Label, DurationMs: r.duration(r.EndTime).Milliseconds()},
	}
}

// Times of a retry.
const (
	retryFirst  = 500 * time.Millisecond
	retryMost   = 30 * time.Second
	retryJitter = 200 // milliseconds, exclusive
)

// retryAfter returns the pause after a failed attempt, the first being 1. jitter is from 0
// to 199 ms.
func retryAfter(attempt int, jitter time.Duration) time.Duration {
	return min(retryFirst<<min(max(attempt-1, 0), 8)+jitter, retryMost)
}
