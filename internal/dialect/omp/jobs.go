package omp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"troupe/internal/dialect"
)

// Limits of background jobs.
const (
	defaultJobs  = 15  // running
	mostJobs     = 100 // limit and default of the setting async.maxJobs
	keepFinished = 5 * time.Minute
	mostFinished = 256              // ended jobs that are kept; each has up to 50 KB of text
	drainTime    = 3 * time.Second  // limit of the deliveries in Dispose
	deliverTime  = 30 * time.Second // limit of one delivery attempt
)

// JobsOptions configures a table of background jobs. Beside is required.
type JobsOptions struct {
	Beside dialect.TaskGroup
	// Deliver sends the end of a job to its owner's session as a follow-up message, which
	// starts a turn. After an error it is retried. nil: ends are not delivered.
	Deliver func(ctx context.Context, d Delivery) error
	// Progress receives the output of background jobs, and how they ended; nil: it
	// is not sent.
	Progress func(owner, job string, r dialect.Result)
	// Limit bounds the running jobs; 0: 15. MaxJobs clamps the setting async.maxJobs.
	Limit int
	Log   *slog.Logger
	Now   func() time.Time
	// Jitter returns the extra delay of a retry, from 0 to 199 ms; nil: random.
	Jitter func() time.Duration
}

// MaxJobs clamps the setting async.maxJobs; 0 is its default.
func MaxJobs(setting int) int {
	if setting == 0 {
		return mostJobs
	}
	return min(max(setting, 1), mostJobs)
}

// Jobs is the table of background jobs, shared by the sessions of an agent and its
// sub-agents. Each session sees those of its owner. It is safe for concurrent use.
type Jobs struct {
	o   JobsOptions
	ctx context.Context //nolint:containedctx // the life of the table
	end context.CancelFunc

	mu       sync.Mutex
	table    map[string]*job
	order    []*job        // in starting order
	changed  chan struct{} // closed and replaced at each end
	disposed bool
	queue    []*pending
	delivers bool
	wake     chan struct{}
	drained  chan struct{} // closed when the queue is empty; nil: drain does not wait
}

// job is one background job.
type job struct {
	JobRecord
	stop    func()                   // stops its run
	keep    func(text string) string // makes an artifact of a long text
	called  bool                     // its call waits for it and will return its end
	acked   bool                     // its end was delivered or shown
	tool    bool                     // … shown by a tool
	watched int                      // number of polls that wait for it
	queued  bool
	result  dialect.Result // of the call; set when settled is closed
	settled chan struct{}  // closed when the run has ended
}

// NewJobs makes a table. The caller must call Dispose.
func NewJobs(o JobsOptions) *Jobs {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	if o.Limit == 0 {
		o.Limit = defaultJobs
	}
	if o.Jitter == nil {
		o.Jitter = chance
	}
	j := &Jobs{o: o, table: map[string]*job{}, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	j.ctx, j.end = context.WithCancel(context.Background())
	return j
}

// register adds a job. With runs the job runs already and is not refused for the limit.
// keep makes artifacts.
func (j *Jobs) register(label, owner string, keep func(string) string, runs bool) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.disposed {
		return nil, &ToolError{Text: textJobsDisposed}
	}
	j.evict()
	running := 0
	for _, other := range j.order {
		if other.Status == JobRunning {
			running++
		}
	}
	if running >= j.o.Limit && !runs {
		return nil, &ToolError{Text: fmt.Sprintf(textJobLimit, j.o.Limit)}
	}
	id := newID("", func(id string) bool { return j.table[id] != nil })
	b := &job{
		JobRecord: JobRecord{ID: id, Type: TypeBash, Status: JobRunning, StartTime: j.o.Now(), Label: label, OwnerID: owner},
		keep:      keep, called: true, stop: func() {}, settled: make(chan struct{}),
	}
	j.table[id] = b
	j.order = append(j.order, b)
	return b, nil
}

// evict removes jobs that ended longer ago than keepFinished, and the oldest ended ones
// beyond mostFinished. The caller holds j.mu.
func (j *Jobs) evict() {
	now, finished := j.o.Now(), 0
	for _, b := range slices.Backward(j.order) {
		if b.Status == JobRunning {
			continue
		}
		finished++
		if finished > mostFinished || !b.EndTime.IsZero() && now.Sub(b.EndTime) >= keepFinished {
			delete(j.table, b.ID)
		}
	}
	j.order = slices.DeleteFunc(j.order, func(b *job) bool { return j.table[b.ID] != b })
}

// finish records how a job ended. A cancelled job stays cancelled.
func (j *Jobs) finish(b *job, r dialect.Result) {
	j.mu.Lock()
	b.result = r
	if b.Status == JobRunning {
		b.Status, b.ResultText = JobCompleted, r.Text
		if r.IsError {
			b.Status, b.ResultText, b.ErrorText = JobFailed, "", r.Text
		}
	}
	b.EndTime = j.o.Now()
	close(b.settled)
	close(j.changed)
	j.changed = make(chan struct{})
	j.enqueue(b)
	backgrounded := !b.called && b.Status != JobCancelled
	record := b.JobRecord
	j.evict()
	j.mu.Unlock()
	if backgrounded {
		j.progressed(record, r)
	}
}

// asyncResult returns a result with the state of its job.
func asyncResult(r dialect.Result, record JobRecord) dialect.Result {
	d := Details{}
	if have, ok := r.Details.(*Details); ok && have != nil {
		d = *have
	}
	d.Async = &Async{State: string(record.Status), JobID: record.ID, Type: record.Type}
	r.Details = &d
	return r
}

// goesOn records that the job's call no longer waits. An end that has happened by then is
// delivered like any other, after the result of the call.
func (j *Jobs) goesOn(b *job) {
	j.mu.Lock()
	b.called = false
	ended := b.Status != JobRunning && b.Status != JobCancelled
	j.enqueue(b)
	record, r := b.JobRecord, b.result
	j.mu.Unlock()
	if ended {
		j.progressed(record, r)
	}
}

// progressed sends the end of a job to Progress.
func (j *Jobs) progressed(record JobRecord, r dialect.Result) {
	if j.o.Progress != nil {
		j.o.Progress(record.OwnerID, record.ID, asyncResult(r, record))
	}
}

// acknowledge records that the job's call returns its end.
func (j *Jobs) acknowledge(b *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b.acked, b.tool = true, true
}

// cancel cancels a job of an owner: first the record, then the run.
func (j *Jobs) cancel(owner, id string) (CancelledJob, JobStatus) {
	j.mu.Lock()
	b := j.table[id]
	switch {
	case b == nil || b.OwnerID != owner:
		j.mu.Unlock()
		return CancelledJob{ID: id, Status: cancelUnknown}, ""
	case b.Status != JobRunning:
		status := b.Status
		j.mu.Unlock()
		return CancelledJob{ID: id, Status: cancelLate}, status
	}
	b.Status, b.EndTime = JobCancelled, j.o.Now()
	stop := b.stop
	j.mu.Unlock()
	stop()
	return CancelledJob{ID: id, Status: cancelDone}, JobCancelled
}

// abort cancels a job whose call was aborted.
func (j *Jobs) abort(b *job) { _, _ = j.cancel(b.OwnerID, b.ID) }

// arm sets the function that stops a job. For a job that was cancelled before, it calls
// stop at once.
func (j *Jobs) arm(b *job, stop func()) {
	j.mu.Lock()
	b.stop = stop
	late := b.Status == JobCancelled
	j.mu.Unlock()
	if late {
		stop()
	}
}

// cancelOwned cancels all jobs of an owner.
func (j *Jobs) cancelOwned(owner string) {
	for _, r := range j.records(owner, nil, false) {
		if r.Status == JobRunning {
			j.cancel(owner, r.ID)
		}
	}
}

// records returns an owner's jobs in starting order: those in ids, or all with nil. With
// tells their ends count as shown.
func (j *Jobs) records(owner string, ids []string, tells bool) []JobRecord {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.evict()
	var all []JobRecord
	for _, b := range j.order {
		if b.OwnerID != owner || ids != nil && !slices.Contains(ids, b.ID) {
			continue
		}
		if tells && b.Status != JobRunning {
			b.acked, b.tool = true, true
		}
		all = append(all, b.JobRecord)
	}
	return all
}

// Dispose closes the table. It refuses new jobs, cancels all running ones, and
// waits for their ends. It delivers the queued ends for at most 3 seconds. ctx bounds all
// of it.
func (j *Jobs) Dispose(ctx context.Context) {
	j.mu.Lock()
	j.disposed = true
	var running []*job
	for _, b := range j.order {
		if b.Status == JobRunning {
			running = append(running, b)
		}
	}
	all := slices.Clone(j.order)
	j.mu.Unlock()
	for _, b := range running {
		j.abort(b)
	}
	for _, b := range all {
		select {
		case <-b.settled:
		case <-ctx.Done():
		}
	}
	j.drain(ctx)
	j.end()
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.table)
	j.order, j.queue = nil, nil
}
