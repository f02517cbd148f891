package keeper

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"troupe/messages"
	"troupe/spill"
)

// keptLimits are those of a keeper, where a client leaves them to it.
func keptLimits(l spill.Limits) spill.Limits {
	l.Finished = cmp.Or(l.Finished, finishedJobs)
	return l
}

// maxSettled bounds the jobs whose logs wait to become files.
const maxSettled = 1024

// persist moves the logs of settled jobs from memory to files. A log that is so small that
// the client received it with the end of the job stays out.
func (s *server) persist(over <-chan struct{}) {
	store := func(id messages.UID) {
		if err := s.store.Persist(string(id), inlineLog); err != nil && !errors.Is(err, spill.ErrNotFound) {
			s.fault(id, fmt.Errorf("its output stays in memory: %w", err))
		}
	}
	for {
		select {
		case id := <-s.settled:
			store(id)
			continue
		case <-over:
		}
		for { // what was settled before the end
			select {
			case id := <-s.settled:
				store(id)
				continue
			default:
			}
			return
		}
	}
}

// persistRest makes files of what the jobs have in memory that nobody has settled: this
// process holds it, and ends. Without a directory there is no place for them: by that
// name there may be another keeper's.
func (s *server) persistRest() {
	if s.dirRemoved() {
		return
	}
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.jobs))
	s.mu.Unlock()
	for _, id := range ids {
		if err := s.store.Persist(string(id), 0); err != nil && !errors.Is(err, spill.ErrNotFound) {
			s.fault(id, fmt.Errorf("its output is lost: %w", err))
		}
	}
}

// limit bounds the logs as a client wants it. Called with turn.
func (s *server) limit(l *spill.Limits) {
	if l == nil || *l == s.limits {
		return
	}
	s.limiting.Lock()
	s.limits = *l
	s.limiting.Unlock()
	s.journal.append(entry{Kind: entryLimited, Limits: l})
	go func() { // many files may have to go
		s.limiting.Lock()
		defer s.limiting.Unlock()
		s.store.Limit(keptLimits(s.limits))
	}()
}
