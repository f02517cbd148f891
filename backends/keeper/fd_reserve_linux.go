package keeper

import (
	"os"
	"sync"
)

// fdReserve holds descriptors that can be freed for urgent use.
type fdReserve struct {
	mu    sync.Mutex
	files []*os.File
}

// spareCount is how many descriptors a keeper reserves.
const spareCount = 16

func newSpareFiles() *fdReserve {
	s := &fdReserve{}
	s.refill()
	return s
}

func (s *fdReserve) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.files) < spareCount {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

func (s *fdReserve) lend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range min(4, len(s.files)) {
		last := len(s.files) - 1
		_ = s.files[last].Close()
		s.files = s.files[:last]
	}
}
