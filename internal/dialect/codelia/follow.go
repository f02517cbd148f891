package codelia

import (
	"context"
	"sync"

	"troupe/internal/dialect"
	"troupe/messages"
)

// subscribe starts to follow the facts about the tasks, once per session. It returns when
// they arrive or ctx ends.
func (s *Session) subscribe(ctx context.Context) {
	s.subscribed.Do(func() { s.o.Beside.Go(s.follow) })
	select {
	case <-s.begun:
	case <-ctx.Done():
	}
}

// follow applies the facts about the tasks until the session ends. It follows a stream that
// has broken anew, and asks the host what the tasks have done meanwhile.
func (s *Session) follow() {
	first := sync.OnceFunc(func() { close(s.begun) })
	defer first()
	begun := first
	for again := (dialect.Backoff{}); ; {
		heard, err := s.apply(begun)
		if s.ctx.Err() != nil {
			return
		}
		if heard {
			again = dialect.Backoff{}
		}
		s.o.Log.Warn("the events of shell tasks have broken off and are followed anew", "error", err)
		first() // tasks start all the same; the host is asked about them later
		begun = func() { s.o.Beside.Go(s.catchUp) }
		if again.Wait(s.ctx) != nil {
			return
		}
	}
}

// apply applies the facts of one stream to its end. heard reports whether the stream began.
func (s *Session) apply(begun func()) (heard bool, err error) {
	start := func() {
		heard = true
		begun()
	}
	for fact, err := range s.o.Host.Events(s.ctx, messages.Filter{Scope: s.o.Scope}, start) {
		if err != nil {
			return heard, err
		}
		switch f := fact.(type) {
		case messages.FactsDropped:
			s.o.Beside.Go(s.catchUp)
		case messages.CommandStarted, messages.CommandStopping:
			job := f.(messages.CommandFact).Record()
			if t := s.find(string(job.UID)); t != nil {
				s.update(t, job)
			}
		}
	}
	return heard, nil
}

// catchUp gives the tasks the states that their jobs have by now.
func (s *Session) catchUp() {
	s.mu.Lock()
	open := s.running()
	s.mu.Unlock()
	for _, t := range open {
		if job, err := dialect.Job(s.ctx, s.o.Host, messages.JobID(t.id)); err == nil { // else the wait for its end finds out
			s.update(t, job)
		}
	}
}

// update gives a task the state of its job. A task that is stopping gets its result at once,
// before its process tree has ended.
func (s *Session) update(t *task, job messages.Record) {
	switch {
	case job.State == messages.Stopping, job.State.Ended():
		s.o.Beside.Go(func() { s.settle(t, job, nil) })
	case !job.Started.IsZero():
		s.started(t, job)
	}
}
