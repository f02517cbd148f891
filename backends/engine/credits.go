package engine

import (
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// credits are the one-time wishes to hear that a stream has grown. They belong
// to the job rather than its streams: a wish may come before the process does.
type credits struct {
	job   *job
	mu    sync.Mutex
	armed [3]bool
	from  [3]int64
	size  [3]int64 // of the logs
}

// arm takes a wish and reports whether it was granted at once.
func (c *credits) arm(s messages.Stream, from int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[s], c.from[s] = true, from
	return c.grant(s)
}

// grow counts bytes into a log and reports whether somebody is to be told.
func (c *credits) grow(s messages.Stream, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size[s] += n
	return c.grant(s)
}

// reach counts what may be seen of a log, and reports as grow does.
func (c *credits) reach(s messages.Stream, size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size[s] = size
	return c.grant(s)
}

// grant says OutputGrew for a wish that has come true: once, then silence.
func (c *credits) grant(s messages.Stream) bool {
	if !c.armed[s] || c.size[s] <= c.from[s] {
		return false
	}
	c.armed[s] = false
	c.job.enqueue(messages.OutputGrew{Stream: s, Size: c.size[s]})
	return true
}

// sizes are those of the logs.
func (c *credits) sizes() messages.Sizes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return messages.Sizes(c.size)
}

// outputs say where logs lie and what was not kept of them, of those that are in a file
// or have gaps. Called with mu.
func (j *job) outputs() (list []messages.OutputState) {
	for _, s := range j.streams {
		list = backends.AddOutput(list, s.which, s.log.State())
	}
	return list
}

// clear forgets the wishes of a former owner.
func (c *credits) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = [3]bool{}
}
