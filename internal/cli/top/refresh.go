package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/host"
	"troupe/messages"
)

// What processes use has no event. A list of many jobs costs the daemon a look at each of them:
// the pause after it is refreshFactor times as long as it took, at least refreshEvery.
const (
	refreshEvery  = time.Second
	refreshFactor = 20
)

// refreshState says when the next lists are due.
type refreshState struct {
	running bool
	again   bool // something has changed since it began
	nth     int  // of the pause: an older one is void
}

// listed is the result of a refresh.
type listed struct {
	lists
	took time.Duration
	err  error
}

// refreshDue ends the nth pause.
type refreshDue struct{ nth int }

// list reads the jobs, sessions and scopes, unless that is under way.
func (m *model) list() tea.Cmd {
	if m.refresh.running {
		m.refresh.again = true
		return nil
	}
	m.refresh.running = true
	ask := messages.ListJobs{Scope: m.scope, Finished: m.jobs.finished, Live: true}
	return func() tea.Msg {
		begun := time.Now()
		all, err := host.Ask(m.ctx(), m.Host(), ask)
		if err != nil {
			return listed{err: err}
		}
		sessions, err := host.Ask(m.ctx(), m.Host(), messages.ListSessions{Scope: ask.Scope})
		if err != nil {
			return listed{err: err}
		}
		scopes, err := host.Ask(m.ctx(), m.Host(), messages.ListScopes{Path: ask.Scope})
		return listed{lists{all.Jobs, scopes.Scopes, sessions.Sessions, time.Now()}, time.Since(begun), err}
	}
}

// took takes the result of a refresh and begins the pause before the next one.
func (m *model) took(l listed) tea.Cmd {
	again := m.refresh.again
	m.refresh.running, m.refresh.again = false, false
	m.refresh.nth++
	m.unreachable = ""
	if l.err != nil {
		m.unreachable = sentence(l.err)
	} else {
		m.jobs.replace(l.lists)
	}
	next, nth := m.arrange(), m.refresh.nth
	if again {
		return tea.Batch(next, m.list())
	}
	return tea.Batch(next, tea.Tick(max(refreshEvery, refreshFactor*l.took), func(time.Time) tea.Msg { return refreshDue{nth} }))
}

func (m *model) due(d refreshDue) tea.Cmd {
	if m.dirty = false; d.nth != m.refresh.nth {
		return nil
	}
	return m.list()
}
