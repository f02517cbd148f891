package jsonrpc

import "sync"

// maxBatch bounds the requests of a batch: more could not run at a time.
const maxBatch = maxRunning

// batch collects the responses to a batch. Its requests keep their places until all have
// theirs: the responses take memory.
type batch struct {
	mu        sync.Mutex
	left      int // requests without a response
	places    int // of requests that have run
	responses []rendering
}

// add adds a response, nil for a notification. After the last one it returns all, none if there
// is no response, and the places that the requests have.
func (b *batch) add(r rendering, place bool) (all []rendering, places int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r != nil {
		b.responses = append(b.responses, r)
	}
	if place {
		b.places++
	}
	if b.left--; b.left > 0 {
		return nil, 0
	}
	return b.responses, b.places
}
