package spill

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// handle is one descriptor, shared by whoever reads or writes it just now. The
// last to let go closes it: a descriptor is closed once, and never in use.
type handle struct {
	fd   int
	sys  Sys
	refs atomic.Int32
}

func newHandle(sys Sys, fd int) *handle {
	h := &handle{fd: fd, sys: sys}
	h.refs.Store(1)
	return h
}

// hold may be called only by one who knows that somebody holds it.
func (h *handle) hold() *handle {
	h.refs.Add(1)
	return h
}

func (h *handle) free() {
	if h.refs.Add(-1) == 0 {
		h.sys.Close(h.fd) // the bytes are in the page cache: nothing is left to fail
	}
}

// slot is where the cache keeps the descriptor of one file.
type slot struct {
	h    *handle
	elem *list.Element // nil: no descriptor, or one that must not be closed
}

// cache keeps the descriptors of the files used last, so that ten thousand
// logs need no ten thousand descriptors. The others are
// opened again by path. It is bounded but for pinned ones, whose file has no
// path any more.
type cache struct {
	sys   Sys
	limit int

	mu   sync.Mutex
	list list.List // of *slot, used last first
}

// get returns the descriptor of s, held for the caller, or nil.
func (c *cache) get(s *slot) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.h == nil {
		return nil
	}
	if s.elem != nil {
		c.list.MoveToFront(s.elem)
	}
	return s.h.hold()
}

// put gives h to s, in place of what it had, and closes the one used least.
func (c *cache) put(s *slot, h *handle) {
	c.mu.Lock()
	old := s.h
	s.h = h
	if s.elem == nil {
		s.elem = c.list.PushFront(s)
	}
	victim := c.overflow()
	c.mu.Unlock()
	for _, h := range []*handle{old, victim} {
		if h != nil {
			h.free()
		}
	}
}

// overflow takes the descriptor used least out of a full cache. A file that
// has no name any more would be lost with it: it stays, pinned.
func (c *cache) overflow() *handle {
	for c.list.Len() > c.limit {
		s := c.list.Remove(c.list.Back()).(*slot)
		s.elem = nil
		if st, err := c.sys.Stat(s.h.fd); err != nil || st.Links == 0 {
			continue
		}
		h := s.h
		s.h = nil
		return h
	}
	return nil
}

// pin keeps h, the descriptor of s, until it is dropped or replaced.
func (c *cache) pin(s *slot, h *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.h == nil {
		s.h = h.hold()
	}
	if s.elem != nil {
		c.list.Remove(s.elem)
		s.elem = nil
	}
}

// drop forgets the descriptor of s.
func (c *cache) drop(s *slot) {
	c.mu.Lock()
	h := s.h
	s.h = nil
	if s.elem != nil {
		c.list.Remove(s.elem)
		s.elem = nil
	}
	c.mu.Unlock()
	if h != nil {
		h.free()
	}
}

// shrink closes every descriptor that can be opened again, when the process
// has run out of them, and says whether there were any.
func (c *cache) shrink() bool {
	c.mu.Lock()
	var out []*handle
	for e := c.list.Back(); e != nil; {
		s, prev := e.Value.(*slot), e.Prev()
		if st, err := c.sys.Stat(s.h.fd); err == nil && st.Links > 0 {
			out = append(out, s.h)
			s.h, s.elem = nil, nil
			c.list.Remove(e)
		}
		e = prev
	}
	c.mu.Unlock()
	for _, h := range out {
		h.free()
	}
	return len(out) > 0
}
