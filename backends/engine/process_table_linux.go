package engine

import "sync"

// processTable reads the process table for those who need all of it. One reading
// serves everybody who asked before it began: a hundred jobs that are stopped
// together cost one or two.
type processTable struct {
	h *platform

	mu      sync.Mutex
	next    *tableScan // not begun
	running bool
}

// tableScan is one look at the table: processes that live, by session.
type tableScan struct {
	done     chan struct{}
	sessions map[int][]proc
}

// take gives the processes of a session, seen after the call.
func (c *processTable) take(sid int) []proc {
	c.mu.Lock()
	if c.next == nil {
		c.next = &tableScan{done: make(chan struct{})}
	}
	mine := c.next
	if !c.running {
		c.running = true
		c.h.engine.background(c.loop)
	}
	c.mu.Unlock()
	<-mine.done
	return mine.sessions[sid]
}

func (c *processTable) loop() {
	for {
		c.mu.Lock()
		now := c.next
		c.next = nil
		c.running = now != nil
		c.mu.Unlock()
		if now == nil {
			return
		}
		now.sessions = make(map[int][]proc)
		for _, p := range everyProcess(c.h.sys) {
			if !p.dead() {
				now.sessions[p.sid] = append(now.sessions[p.sid], p)
			}
		}
		close(now.done)
	}
}
