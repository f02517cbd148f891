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

// The bounds of background jobs.
const (
	defaultJobs  = 15  // running at a time
	mostJobs     = 100 // as the setting async.maxJobs has it, and its default
	keepFinished = 5 * time.Minute
	mostFinished = 256              // kept: their texts have up to 50 KB each
	drainTime    = 3 * time.Second  // of deliveries at the end
	deliverTime  = 30 * time.Second // of one attempt: then it has failed
)

// JobsOptions are those of a table of background jobs. Beside must be given.
type JobsOptions struct {
	Beside dialect.TaskGroup
	// Deliver tells an owner's session of the end of a job: a follow-up message, which starts
	// a turn. An error has it tried again. nil: nobody is told.
	Deliver func(ctx context.Context, d Delivery) error
	// Progress is told what a job in the background has written, and how it ended
	// . nil: nobody looks.
	Progress func(owner, job string, r dialect.Result)
	// Limit is how many may run: 0 is 15; MaxJobs clamps the setting async.maxJobs.
	Limit int
	// Retention is how long the ended ones stay: 0 is 5 minutes, negative not at all.
	Retention time.Duration
	Log       *slog.Logger
	Now       func() time.Time
	// Jitter is what is added to the time of a retry, from 0 to 199 ms; nil: by chance.
	Jitter func() time.Duration
}

// MaxJobs is the setting async.maxJobs within its bounds; 0 is its default.
func MaxJobs(setting int) int {
	if setting == 0 {
		return mostJobs
	}
	return min(max(setting, 1), mostJobs)
}

// Jobs is the table of background jobs that the sessions of an agent and its sub-agents
// share: each sees those of its owner. It is safe for concurrent use.
type Jobs struct {
	o   JobsOptions
	ctx context.Context //nolint:containedctx // the life of the table
	end context.CancelFunc

	mu       sync.Mutex
	table    map[string]*job
	order    []*job        // as they began
	changed  chan struct{} // closed, and made anew, at each end
	disposed bool
	queue    []*pending
	delivers bool
	wake     chan struct{}
	drained  chan struct{} // closed when the queue is empty; nil: nobody waits
}

// job is one of them.
type job struct {
	JobRecord
	stop    func()                   // the abort signal
	keep    func(text string) string // makes an artifact of a long text
	called  bool                     // the call that began it waits for it, and will tell its end
	acked   bool                     // its end was told
	tool    bool                     // … by a tool
	watched int                      // polls that wait for it
	queued  bool
	result  dialect.Result // of the call, when it is settled
	settled chan struct{}  // closed when nothing of it runs
}

// NewJobs makes a table. Dispose must follow.
func NewJobs(o JobsOptions) *Jobs {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	if o.Limit == 0 {
		o.Limit = defaultJobs
	}
	if o.Retention == 0 {
		o.Retention = keepFinished
	}
	if o.Jitter == nil {
		o.Jitter = chance
	}
	j := &Jobs{o: o, table: map[string]*job{}, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	j.ctx, j.end = context.WithCancel(context.Background())
	return j
}

// register adds a job that is about to begin, or, with runs, runs already and is not
// refused for the number of others. keep makes artifacts.
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

// evict forgets those that ended too long ago, and the oldest if there are too many.
// Called with j.mu.
func (j *Jobs) evict() {
	now, finished := j.o.Now(), 0
	for _, b := range slices.Backward(j.order) {
		if b.Status == JobRunning {
			continue
		}
		finished++
		if finished > mostFinished || j.o.Retention < 0 || !b.EndTime.IsZero() && now.Sub(b.EndTime) >= j.o.Retention {
			delete(j.table, b.ID)
		}
	}
	j.order = slices.DeleteFunc(j.order, func(b *job) bool { return j.table[b.ID] != b })
}

// finish says how a job ended. A job that was cancelled stays so.
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

// asyncResult is a result with where its job stands.
func asyncResult(r dialect.Result, record JobRecord) dialect.Result {
	d := Details{}
	if have, ok := r.Details.(*Details); ok && have != nil {
		d = *have
	}
	d.Async = &Async{State: string(record.Status), JobID: record.ID, Type: record.Type}
	r.Details = &d
	return r
}

// goesOn is said by the call that began a job when it waits no longer. What has ended by
// then is told as any other end, behind the start.
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

// progressed tells how a job has ended to whoever looks at it in the background.
func (j *Jobs) progressed(record JobRecord, r dialect.Result) {
	if j.o.Progress != nil {
		j.o.Progress(record.OwnerID, record.ID, asyncResult(r, record))
	}
}

// told says that the call tells the end of its job.
func (j *Jobs) acknowledge(b *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b.acked, b.tool = true, true
}

// cancel ends a job of an owner: first the record, then the signal.
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

// arm gives a job its abort signal; one that was cancelled before gets it at once.
func (j *Jobs) arm(b *job, stop func()) {
	j.mu.Lock()
	b.stop = stop
	late := b.Status == JobCancelled
	j.mu.Unlock()
	if late {
		stop()
	}
}

// cancelOwned ends all jobs of an owner.
func (j *Jobs) cancelOwned(owner string) {
	for _, r := range j.records(owner, nil, false) {
		if r.Status == JobRunning {
			j.cancel(owner, r.ID)
		}
	}
}

// records are the jobs of an owner, in the order in which they began: those of ids, or
// all. With tells the ends among them count as told.
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

// Dispose ends the table: no job begins any more, all are cancelled and waited
// for, and what is still to be told is told, for at most 3 seconds. ctx bounds all of it.
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
