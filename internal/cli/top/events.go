package top

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// eventsEvery is the least time between two batches of events. The table is sorted after each: the
// pause is at least eventsFactor times as long as that took.
const (
	eventsEvery  = 100 * time.Millisecond
	eventsFactor = 20
)

// maxGathered bounds the records of a batch. With more, the jobs are listed again.
const maxGathered = 4096

// gathered holds the newest record of each job of which events came, until it is taken.
type gathered struct {
	mu      sync.Mutex
	records map[messages.UID]messages.Record
	list    bool          // scopes or sessions have changed, or events are missing
	ready   chan struct{} // has a value if there is anything
}

func newGathered() *gathered {
	return &gathered{records: map[messages.UID]messages.Record{}, ready: make(chan struct{}, 1)}
}

// eventsCame is a batch of events.
type eventsCame struct {
	records []messages.Record
	list    bool
}

// eventsEnded reports that no events follow.
type eventsEnded struct{ err error }

// followEvents gathers the events of the daemon, until they end.
func (m *model) followEvents() tea.Cmd {
	return func() tea.Msg {
		for e, err := range m.NewEvents(m.ctx(), messages.Filter{Scope: m.scope}, m.events.changed) {
			if err != nil {
				return eventsEnded{err}
			}
			m.events.add(e)
		}
		return eventsEnded{m.ctx().Err()}
	}
}

// add adds an event.
func (g *gathered) add(e api.Event) {
	if e.Job == nil {
		g.changed()
		return
	}
	g.addRecord(*e.Job)
}

// addRecord adds the record of an event.
func (g *gathered) addRecord(r messages.Record) {
	g.mu.Lock()
	if g.records[r.UID] = r; len(g.records) > maxGathered {
		clear(g.records)
		g.list = true
	}
	g.mu.Unlock()
	g.wake()
}

// changed asks for new lists.
func (g *gathered) changed() {
	g.mu.Lock()
	g.list = true
	g.mu.Unlock()
	g.wake()
}

func (g *gathered) wake() {
	select {
	case g.ready <- struct{}{}:
	default:
	}
}

// take returns the batch and begins the next one.
func (g *gathered) take() eventsCame {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := eventsCame{make([]messages.Record, 0, len(g.records)), g.list}
	for _, r := range g.records {
		batch.records = append(batch.records, r)
	}
	clear(g.records)
	g.list = false
	return batch
}

// awaitEvents waits for a batch.
func (m *model) awaitEvents() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-m.events.ready:
			return m.events.take()
		case <-m.ctx().Done():
			return nil
		}
	}
}

// takeEvents takes a batch. The next one comes after a pause.
func (m *model) takeEvents(batch eventsCame) tea.Cmd {
	begun := time.Now()
	for _, r := range batch.records {
		m.jobs.merge(r)
	}
	next, await := []tea.Cmd{m.arrange()}, m.awaitEvents()
	least := max(eventsEvery, eventsFactor*time.Since(begun))
	next = append(next, func() tea.Msg {
		if !pause(m.ctx(), least) {
			return nil
		}
		return await()
	})
	if batch.list {
		next = append(next, m.list())
	}
	return tea.Batch(next...)
}

// lostEvents follows the events again after a pause: the daemon has ended, or is restarted.
func (m *model) lostEvents(eventsEnded) tea.Cmd {
	m.dirty = false
	follow := m.followEvents()
	return func() tea.Msg {
		if !pause(m.ctx(), refreshEvery) {
			return nil
		}
		return follow()
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
