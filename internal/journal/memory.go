package journal

import (
	"sync"

	"troupe/messages"
)

// DefaultLimit bounds the facts of a Memory: those of about two thousand jobs, twice as
// many as an in-process node keeps.
const DefaultLimit = 10_000

// Memory is a journal that ends with its process. It keeps the newest facts, and the
// newest MemoryJobs jobs that are over. It has no bound on age.
type Memory struct {
	limit   int
	origins []Origin // one

	mu     sync.Mutex
	ring   [][]byte // encoded; fact n is at (n-1) % limit once it is full
	last   messages.Seq
	known  memoryTable
	closed bool
}

// NewMemory returns a journal of limit facts; 0 means DefaultLimit.
func NewMemory(limit int) *Memory {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Memory{limit: limit, origins: []Origin{newOrigin(0)}, known: newMemoryTable()}
}

// Quick implements actors.Quick: no call blocks.
func (m *Memory) Quick() bool { return true }

func (m *Memory) first() messages.Seq {
	if len(m.ring) == 0 {
		return 0
	}
	return m.last - messages.Seq(len(m.ring)) + 1
}

// Last implements Store.
func (m *Memory) Last() (messages.Seq, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	return m.last, nil
}

// Append implements Store.
func (m *Memory) Append(facts []messages.FactRecorded) error {
	return m.Write(Batch{Facts: facts})
}

// Write implements Writer.
func (m *Memory) Write(b Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	facts, forms, err := encodeFresh(b.Facts, m.last)
	if err != nil {
		return err
	}
	for i, f := range facts {
		m.last = f.Seq
		if about, is := f.Fact.(messages.CommandFact); is {
			m.known.learn(f.Seq, about, forms[i])
		}
		if len(m.ring) < m.limit {
			m.ring = append(m.ring, forms[i])
			continue
		}
		m.ring[m.slot(f.Seq)] = forms[i]
	}
	m.known.take(b, m.last)
	return nil
}

// slot returns the index of a fact in the ring; numbers start at 1.
func (m *Memory) slot(seq messages.Seq) int { return int((seq - 1) % messages.Seq(m.limit)) }

// Read implements Store.
func (m *Memory) Read(after messages.Seq, limit int) ([]messages.FactRecorded, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if after >= m.last || limit <= 0 {
		return nil, nil
	}
	from := max(after+1, m.first())
	out := make([]messages.FactRecorded, 0, min(messages.Seq(limit), m.last-from+1))
	for seq := from; len(out) < cap(out); seq++ {
		fact, err := decodeFact(m.ring[m.slot(seq)])
		if err != nil {
			return nil, err
		}
		out = append(out, messages.FactRecorded{Seq: seq, Fact: fact})
	}
	return out, nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.ring, m.known = true, nil, memoryTable{}
	return nil
}
