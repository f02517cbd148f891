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

// tableScan is one reading of the table: processes by process session.
type tableScan struct {
	done     chan struct{}
	sessions map[int][]proc
	failed   error // there may be more processes
}

// take returns the processes of a process session, dead ones too, read after the call. A reading
// misses a process that was forked during it by one that ended before its turn.
func (c *processTable) take(sid int) ([]proc, error) {
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
	return mine.sessions[sid], mine.failed
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
		procs, err := everyProcess(c.h.sys)
		for _, p := range procs {
			now.sessions[p.sid] = append(now.sessions[p.sid], p)
		}
		now.failed = err
		close(now.done)
	}
}
