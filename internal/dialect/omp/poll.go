package omp

import (
	"context"
	"slices"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// pollEvery is the interval of updates during a poll.
const pollEvery = 500 * time.Millisecond

// Job shows, waits for and cancels background jobs. The error is a *ToolError, an
// *AbortError, or nil.
func (s *Session) Job(ctx context.Context, p JobParams, update func(dialect.Result)) (dialect.Result, error) {
	switch {
	case !s.options.Settings.background():
		return dialect.Result{}, &ToolError{Text: textJobsOff}
	case s.options.Jobs == nil:
		return dialect.Result{}, &ToolError{Text: textNoManager}
	case p.List && (len(p.Poll) > 0 || len(p.Cancel) > 0):
		return dialect.Result{}, &ToolError{Text: textListAlone}
	}
	report := jobReport{ended: map[string]JobStatus{}, now: s.options.Now()}
	for _, id := range p.Cancel {
		what, status := s.options.Jobs.cancel(s.options.Owner, id)
		report.cancels, report.ended[id] = append(report.cancels, what), status
	}
	switch {
	case p.List:
		report.jobs = s.options.Jobs.records(s.options.Owner, nil, true)
		return s.Net(report.result()), nil
	case len(p.Poll) == 0 && len(p.Cancel) > 0:
		return s.Net(report.result()), nil
	}
	ids := p.Poll
	if len(ids) == 0 {
		for _, r := range s.options.Jobs.records(s.options.Owner, nil, false) {
			if r.Status == JobRunning {
				ids = append(ids, r.ID)
			}
		}
		if len(ids) == 0 {
			return dialect.Result{Text: textNothingRuns, Details: &JobDetails{Jobs: []JobEntry{}}}, nil
		}
	}
	return s.poll(ctx, ids, report, update)
}

// poll waits until one of the jobs has ended, the wait of the settings is over, or the
// caller aborts. Running jobs continue.
func (s *Session) poll(ctx context.Context, ids []string, report jobReport, update func(dialect.Result)) (dialect.Result, error) {
	watched := s.options.Jobs.watch(s.options.Owner, ids)
	shown := false
	defer func() { s.options.Jobs.unwatch(watched, shown) }()
	report.missing = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(watched, func(b *job) bool { return b.ID == id })
	})
	window, beat := time.NewTimer(s.options.Settings.pollWait()), time.NewTicker(pollEvery)
	defer window.Stop()
	defer beat.Stop()
	for over := false; ; {
		records, changed := s.options.Jobs.look(watched)
		report.jobs, report.now = records, s.options.Now()
		ended := slices.ContainsFunc(records, func(r JobRecord) bool { return r.Status != JobRunning })
		if ended || over || len(records) == 0 {
			if over && !ended {
				report.note = textWaitWindowOver
			}
			shown = true
			return s.Net(report.result()), nil
		}
		select {
		case <-changed:
		case <-beat.C:
			if update != nil {
				update(report.result())
			}
		case <-window.C:
			over = true
		case <-ctx.Done():
			return dialect.Result{}, &AbortError{Text: textAborted, Cause: ctx.Err()}
		}
	}
}

// watch holds back the delivery of the given jobs' ends while a poll waits for them
//
func (j *Jobs) watch(owner string, ids []string) []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.evict()
	var watched []*job
	for _, b := range j.order {
		if b.OwnerID == owner && slices.Contains(ids, b.ID) {
			b.watched++
			watched = append(watched, b)
		}
	}
	return watched
}

// unwatch reverts watch. It queues the ends that the poll has not shown.
func (j *Jobs) unwatch(watched []*job, shown bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range watched {
		b.watched--
		b.tool = b.tool || shown && b.Status != JobRunning
		b.acked = b.acked || b.tool
		j.enqueue(b)
	}
}

// look returns the records of jobs, and a channel that is closed at the next end of any
// job.
func (j *Jobs) look(watched []*job) ([]JobRecord, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []JobRecord
	for _, b := range watched {
		all = append(all, b.JobRecord)
	}
	return all, j.changed
}

// know stores the node's job of a background job.
func (j *Jobs) know(b *job, id messages.JobID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b.Job = id
}
