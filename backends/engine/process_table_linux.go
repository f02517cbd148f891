package engine

import "sync"

// processTable reads the whole process table. One reading serves all callers that came
// before it began: a hundred concurrent stops cost one or two.
type processTable struct {
	h *platform

	mu      sync.Mutex
	next    *tableScan // not started
	running bool
}

// tableScan is one reading of the table: live processes, by process session.
type tableScan struct {
	done     chan struct{}
	sessions map[int][]proc
}

// take returns the processes of a process session, read after the call.
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
