package keeper

import (
	"os"
	"sync"
)

// fdReserve are descriptors that are held so that they can be given away.
type fdReserve struct {
	mu    sync.Mutex
	files []*os.File
}

// spareCount is how many a keeper holds back from its jobs.
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
