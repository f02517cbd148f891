package engine

import (
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// credits holds one-time requests for OutputGrew. They belong to the job, since a
// request may come before its streams exist.
type credits struct {
	job   *job
	mu    sync.Mutex
	armed [3]bool
	from  [3]int64
	size  [3]int64 // of the logs
}

// arm takes a request and reports whether it was answered at once.
func (c *credits) arm(s messages.Stream, from int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[s], c.from[s] = true, from
	return c.grant(s)
}

// grow adds n to a log's size and reports whether a fact must be delivered.
func (c *credits) grow(s messages.Stream, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size[s] += n
	return c.grant(s)
}

// reach sets the readable size of a log, and reports as grow does.
func (c *credits) reach(s messages.Stream, size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size[s] = size
	return c.grant(s)
}

// grant reports OutputGrew for a request that is due, once.
func (c *credits) grant(s messages.Stream) bool {
	if !c.armed[s] || c.size[s] <= c.from[s] {
		return false
	}
	c.armed[s] = false
	c.job.enqueue(messages.OutputGrew{Stream: s, Size: c.size[s]})
	return true
}

// sizes returns the sizes of the logs.
func (c *credits) sizes() messages.Sizes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return messages.Sizes(c.size)
}

// outputs returns the states of logs that are in a file or have gaps. The caller holds
// mu.
func (j *job) outputs() (list []messages.OutputState) {
	for _, s := range j.streams {
		list = backends.AddOutput(list, s.which, s.log.State())
	}
	return list
}

// clear drops the requests of a former owner.
func (c *credits) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = [3]bool{}
}
