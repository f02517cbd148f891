package fake

import (
	"errors"
	"io"
	"sync"

	"troupe/spill"
)

// Store keeps logs in memory, with the quotas and gaps of a real store.
type Store struct {
	mu      sync.Mutex
	logs    map[key]*memory
	readers int
	err     error
}

type key struct {
	id     string
	stream uint8
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{logs: map[key]*memory{}} }

// Break makes every Create and Open fail with err, until Break(nil).
func (s *Store) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Readers returns how many opened logs are not closed.
func (s *Store) Readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers
}

// Logs returns how many logs are stored.
func (s *Store) Logs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.logs)
}

// Create implements spill.Store.
func (s *Store) Create(id string, stream uint8, p spill.Plan) (spill.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{id, stream}
	switch {
	case s.err != nil:
		return nil, s.err
	case s.logs[k] != nil:
		return nil, spill.ErrExists
	}
	if p.Quota == 0 {
		p.Quota = spill.DefaultQuota
	}
	m := &memory{plan: p}
	s.logs[k] = m
	return m, nil
}

// Open implements spill.Store.
func (s *Store) Open(id string, stream uint8) (spill.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	m := s.logs[key{id, stream}]
	if m == nil {
		return nil, spill.ErrNotFound
	}
	s.readers++
	return &reader{memory: m, close: sync.OnceFunc(s.closed)}, nil
}

func (s *Store) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
}

// Remove implements spill.Store.
func (s *Store) Remove(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for k := range s.logs {
		if k.id == id {
			delete(s.logs, k)
			found = true
		}
	}
	if !found {
		return spill.ErrNotFound
	}
	return nil
}

// reader is one opened log.
type reader struct {
	*memory
	close func()
}

// Close implements spill.Log.
func (r *reader) Close() error {
	r.close()
	return nil
}

// memory is a log.
type memory struct {
	mu     sync.Mutex
	plan   spill.Plan
	data   []byte // from offset 0; without what a policy dropped at the end
	size   int64
	gap    spill.Gap
	closed bool
	warned bool // ErrQuota was returned
}

// Append implements spill.Writer.
func (m *memory) Append(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, spill.ErrSealed
	}
	if m.plan.Policy == "" || m.plan.Policy == spill.Elide {
		m.data = append(m.data, p...)
		m.size += int64(len(p))
		m.elide()
		return len(p), nil
	}
	room := min(max(m.plan.Quota-m.size, 0), int64(len(p)))
	m.data = append(m.data, p[:room]...)
	m.size += room
	dropped := int64(len(p)) - room
	switch {
	case dropped == 0:
		return len(p), nil
	case m.plan.Policy == spill.Pause:
		return int(room), spill.ErrPaused
	case m.plan.Policy == spill.Kill && !m.warned:
		m.warned = true
		return int(room), spill.ErrQuota
	}
	if m.gap.To == 0 {
		m.gap = spill.Gap{From: m.size, To: m.size}
	}
	m.size += dropped
	m.gap.To = m.size
	return len(p), nil
}

// elide drops the middle of a log that exceeds its quota.
func (m *memory) elide() {
	if m.size <= m.plan.Quota {
		return
	}
	head := min(spill.ElideHead, m.plan.Quota/2)
	m.gap = spill.Gap{From: head, To: m.size - (m.plan.Quota - head)}
	clear(m.data[m.gap.From:m.gap.To])
}

// ReadAt implements spill.Log.
func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at < 0:
		return 0, errors.New("read at a negative offset")
	case at >= m.size:
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), m.size-at))
	clear(p[:n])
	if at < int64(len(m.data)) {
		copy(p[:n], m.data[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// State implements spill.Log and spill.Writer.
func (m *memory) State() spill.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := spill.State{Size: m.size, Closed: m.closed}
	if m.gap.Len() > 0 {
		s.Gaps = []spill.Gap{m.gap}
	}
	return s
}

// Splice implements spill.Writer. A simulated process has no pipe.
func (m *memory) Splice(int, int64) (int64, error) {
	return 0, errors.New("a log in memory takes bytes by Append only")
}

// Sync implements spill.Writer.
func (m *memory) Sync() error { return nil }

// Seal implements spill.Writer.
func (m *memory) Seal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
