package messages

// The list conversation: the supervisor answers from its table.
//
//	client --ListJobs | FindJob | RemoveJob--> supervisor
//	client <--JobList | JobFound | JobMissing | RequestRejected--

// ListJobs asks for the jobs of a scope and its sub-scopes, oldest first.
type ListJobs struct {
	quiet
	Scope    ScopePath `json:"-" query:"scope"`    // "": all
	Finished bool      `json:"-" query:"finished"` // includes finished jobs and ended tasks
	States   []State   `json:"-" query:"state"`    // empty: any; a daemon takes one
	Limit    int       `json:"-" query:"limit"`    // of jobs in the reply, up to MaxListed; 0: none
	Cursor   string    `json:"-" query:"cursor"`   // JobList.Next of the reply before; "": from the oldest
	Live     bool      `json:"-" query:"live"`     // asks for Record.Live of jobs that have processes
}

// MaxListed bounds ListJobs.Limit.
const MaxListed = 10_000

// FindJob asks for one job by its id, uid or name.
type FindJob struct {
	quiet
	Job  JobID `json:"-" path:"id"`
	Live bool  `json:"-" query:"live"` // asks for Record.Live
}

// RemoveJob asks to remove a finished job and its output. It is refused while a notice of
// the job's end is pending (RunCommand.OnFinish).
type RemoveJob struct {
	quiet
	Job JobID `json:"-" path:"id"`
}

// JobList answers ListJobs.
type JobList struct {
	quiet
	V     Version  `json:"v" cbor:"-"`
	Jobs  []Record `json:"jobs"`
	Tasks []Task   `json:"tasks"`         // of hosts; only in the first page, and without States
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
func (ListJobs) Refuse(e *Error) any  { return RequestRejected{Err: *e} }
func (FindJob) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (RemoveJob) Refuse(e *Error) any { return RequestRejected{Err: *e} }
