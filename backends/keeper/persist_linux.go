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

// keptLimits returns limits with the keeper's defaults.
func keptLimits(l spill.Limits) spill.Limits {
	l.Finished = cmp.Or(l.Finished, finishedJobs)
	return l
}

// maxSettled bounds the jobs whose logs wait to become files.
const maxSettled = 1024

// persist moves the logs of settled jobs from memory to files. A small log stays in
// memory: the client received it with the job's end.
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
		for { // jobs settled before the end
			select {
			case id := <-s.settled:
				store(id)
				continue
			default:
			}
			s.persistFinished()
			return
		}
	}
}

// persistFinished writes the logs that the full queue of settled jobs has left in memory.
func (s *server) persistFinished() {
	if s.dirRemoved() {
		return
	}
	for _, id := range s.store.FinishedIDs() {
		if err := s.store.Persist(id, inlineLog); err != nil && !errors.Is(err, spill.ErrNotFound) {
			s.fault(messages.UID(id), fmt.Errorf("its output is lost: %w", err))
		}
	}
}

// persistRest writes the logs of unsettled jobs to files when the keeper ends. After
// the directory was removed it does nothing: another keeper may have the path.
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

// limit sets a client's limits of the logs. The caller holds requestMu.
func (s *server) limit(l *spill.Limits) {
	if l == nil || *l == s.limits {
		return
	}
	s.limiting.Lock()
	s.limits = *l
	s.limiting.Unlock()
	s.journal.append(entry{Kind: entryLimited, Limits: l})
	go func() { // many files may have to be removed
		s.limiting.Lock()
		defer s.limiting.Unlock()
		s.store.Limit(keptLimits(s.limits))
	}()
}
