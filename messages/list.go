package messages

import "time"

// The list conversation: the supervisor answers from its own table.
//
//	client --ListJobs | FindJob | RemoveJob | AnnounceTask | UpdateTask--> supervisor
//	client <--ListReply--

// ListJobs asks for the jobs of a scope and its sub-scopes, oldest first.
type ListJobs struct {
	quiet
	Scope    ScopePath // "": all
	Finished bool      // the finished ones too
	States   []State   // none: any
}

// FindJob asks for one job: by id, uid, or by the name it was given.
type FindJob struct {
	quiet
	Job JobID
}

// RemoveJob asks for a finished job and its output to be forgotten. It is refused
// while the end of the job is still to be told (RunCommand.OnFinish).
type RemoveJob struct {
	quiet
	Job JobID
}

// AnnounceTask tells of a task that is the host's own and none of ours, so that
// one list can show both.
type AnnounceTask struct {
	quiet
	Task Task
}

// UpdateTask changes an announced task; one that has ended is forgotten when
// it was listed once.
type UpdateTask struct {
	quiet
	Task Task
}

// Task is a host's own piece of work.
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
	Jobs  []Job
	Tasks []Task
}

// JobFound answers FindJob, and RemoveJob with the record that was removed.
type JobFound struct {
	quiet
	Job Job
}

// JobMissing reports that there is no such job. Category says whether there
// never was one, or it was retired.
type JobMissing struct {
	quiet
	Category string // "unknown", "removed"
	Err      Error
}

// ListReply is what a client may receive in answer to a list request.
type ListReply interface{ listReply() }

func (JobList) listReply()         {}
func (JobFound) listReply()        {}
func (JobMissing) listReply()      {}
func (Acknowledged) listReply()    {} // to AnnounceTask and UpdateTask
func (RequestRejected) listReply() {}

// Refuse implements Refusable.
func (ListJobs) Refuse(e *Error) any     { return RequestRejected{Err: *e} }
func (FindJob) Refuse(e *Error) any      { return RequestRejected{Err: *e} }
func (RemoveJob) Refuse(e *Error) any    { return RequestRejected{Err: *e} }
func (AnnounceTask) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (UpdateTask) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
