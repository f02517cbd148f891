package messages

import "time"

// The list conversation: the supervisor answers from its table.
//
//	client --ListJobs | FindJob | RemoveJob | AnnounceTask | UpdateTask--> supervisor
//	client <--JobList | JobFound | JobMissing | Acknowledged | RequestRejected--

// ListJobs asks for the jobs of a scope and its sub-scopes, oldest first.
type ListJobs struct {
	quiet
	Scope    ScopePath `json:"-" query:"scope"`    // "": all
	Finished bool      `json:"-" query:"finished"` // includes finished jobs
	States   []State   `json:"-" query:"state"`    // empty: any; a daemon takes one
	Limit    int       `json:"-" query:"limit"`    // of jobs in the reply, up to MaxListed; 0: none
	Cursor   string    `json:"-" query:"cursor"`   // JobList.Next of the reply before; "": from the oldest
}

// MaxListed bounds ListJobs.Limit.
const MaxListed = 10_000

// FindJob asks for one job by its id, uid or name.
type FindJob struct {
	quiet
	Job JobID `json:"-" path:"id"`
}

// RemoveJob asks to remove a finished job and its output. It is refused while a notice of
// the job's end is pending (RunCommand.OnFinish).
type RemoveJob struct {
	quiet
	Job JobID `json:"-" path:"id"`
}

// AnnounceTask adds a task of the host to the list, so that one list shows the host's
// tasks and the jobs.
type AnnounceTask struct {
	quiet
	Task Task
}

// UpdateTask changes an announced task. A task that has ended is removed after it was
// listed once.
type UpdateTask struct {
	quiet
	Task Task
}

// Task is a piece of work that the host runs itself.
type Task struct {
	ID          TaskID    `json:"id"`
	Scope       ScopePath `json:"scope"`
	Kind        string    `json:"kind"`
	Description string    `json:"description"`
	State       string    `json:"state"`
	Ended       bool      `json:"ended"`
	Since       time.Time `json:"since"`
}

// MaxTasks bounds the table of announced tasks.
const MaxTasks = 1024

// JobList answers ListJobs.
type JobList struct {
	quiet
	V     Version  `json:"v" cbor:"-"`
	Jobs  []Record `json:"jobs"`
	Tasks []Task   `json:"tasks"`         // only in the first page
	Next  string   `json:"next,omitzero"` // ListJobs.Cursor of the next page; "": there is none
}

// JobFound answers FindJob, and RemoveJob with the record that was removed. In JSON it is the
// record.
type JobFound struct {
	quiet
	Job Record
}

// JobMissing reports that the job is unknown. Category says whether it was removed.
type JobMissing struct {
	quiet
	Category string // "unknown", "removed"
	Err      Error
}

// Refuse implements Refusable.
func (ListJobs) Refuse(e *Error) any     { return RequestRejected{Err: *e} }
func (FindJob) Refuse(e *Error) any      { return RequestRejected{Err: *e} }
func (RemoveJob) Refuse(e *Error) any    { return RequestRejected{Err: *e} }
func (AnnounceTask) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (UpdateTask) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
