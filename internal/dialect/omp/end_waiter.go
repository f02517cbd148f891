package omp

import (
	"context"
	"sync"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// endWaiter waits for the ends of all background jobs of a session with one request to the
// host. A daemon bounds the requests of a client.
type endWaiter struct {
	mu      sync.Mutex
	waiting map[messages.JobID]chan<- end
	asking  bool
	again   context.CancelFunc // restarts the request for more jobs; nil: it has not started yet
}

// end is the result of the wait for one job.
type end struct {
	job messages.Record
	err error
}

// endOf waits for the end of a job.
func (s *Session) endOf(ctx context.Context, id messages.JobID) (messages.Record, error) {
	came := make(chan end, 1)
	s.ends.mu.Lock()
	if s.ends.waiting == nil {
		s.ends.waiting = map[messages.JobID]chan<- end{}
	}
	s.ends.waiting[id] = came
	if s.ends.again != nil {
		s.ends.again()
	}
	if !s.ends.asking {
		s.ends.asking = true
		asks, over := dialect.Within(ctx, s.options.Jobs.ctx) // outlives the wait for this job
		s.options.Beside.Go(func() {
			defer over()
			s.awaitEnds(asks)
		})
	}
	s.ends.mu.Unlock()
	select {
	case e := <-came:
		return e.job, e.err
	case <-ctx.Done():
		return messages.Record{}, ctx.Err()
	}
}

// awaitEnds waits until all jobs have ended, one request at a time.
func (s *Session) awaitEnds(ctx context.Context) {
	var pause dialect.Backoff
	for {
		s.ends.mu.Lock()
		var ids []messages.JobID
		for id := range s.ends.waiting {
			ids = append(ids, id)
		}
		if len(ids) == 0 || ctx.Err() != nil {
			s.ends.asking, s.ends.again = false, nil
			s.ends.mu.Unlock()
			return
		}
		asks, again := context.WithCancel(ctx)
		s.ends.again = again
		s.ends.mu.Unlock()
		ended, err := host.Ask(asks, s.options.Host, messages.WaitJobs{Jobs: ids, Any: true})
		anew := asks.Err() != nil
		again()
		if anew || err == nil && s.passEnded(ended.Jobs) || s.lookAt(ctx, ids) {
			pause = dialect.Backoff{}
			continue
		}
		_ = pause.Wait(ctx) // all jobs run: the wait itself failed
	}
}

// passEnded passes on the jobs that have ended, and reports whether there are any.
func (s *Session) passEnded(jobs []messages.Record) bool {
	s.ends.mu.Lock()
	defer s.ends.mu.Unlock()
	passed := false
	for _, job := range jobs {
		id := messages.JobID(job.UID)
		if came := s.ends.waiting[id]; came != nil && job.State.Ended() {
			came <- end{job: job}
			delete(s.ends.waiting, id)
			passed = true
		}
	}
	return passed
}

// lookAt checks each job, since a missing one fails the wait for all. It reports whether
// one has ended or is missing.
func (s *Session) lookAt(ctx context.Context, ids []messages.JobID) bool {
	found := map[messages.JobID]end{}
	for _, id := range ids {
		if job, err := dialect.Job(ctx, s.options.Host, id); err != nil && !dialect.IsTransient(err) || err == nil && job.State.Ended() {
			found[id] = end{job, err}
		}
	}
	s.ends.mu.Lock()
	defer s.ends.mu.Unlock()
	for id, e := range found {
		if came := s.ends.waiting[id]; came != nil {
			came <- e
			delete(s.ends.waiting, id)
		}
	}
	return len(found) > 0
}
