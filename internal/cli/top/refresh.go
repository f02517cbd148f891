package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/host"
	"troupe/messages"
)

// What processes use has no event. A list of many jobs costs the daemon a look at each of them:
// the next one begins refreshFactor times as long after it as it took, at least refreshEvery. The
// ages on the screen change in between.
const (
	refreshEvery  = time.Second
	refreshFactor = 40
	fullEvery     = 10 * time.Second
)

// refreshState says when the next lists are due.
type refreshState struct {
	running bool
	again   bool // something has changed since they began
	due     time.Time
	fullDue time.Time // of those with finished jobs, of which events tell, but not of their removal
}

// listed is the result of a refresh.
type listed struct {
	lists
	took time.Duration
	err  error
}

// ticked comes once in refreshEvery.
type ticked struct{}

// tick waits for the next ticked.
func tick() tea.Cmd { return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return ticked{} }) }

// list reads the jobs, sessions and scopes, unless that is under way.
func (m *model) list() tea.Cmd {
	if m.refresh.running {
		m.refresh.again = true
		return nil
	}
	m.refresh.running = true
	full := !m.now().Before(m.refresh.fullDue)
	ask := messages.ListJobs{Scope: m.scope, Finished: m.jobs.finished && full, Live: true}
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
		return listed{lists{all.Jobs, scopes.Scopes, sessions.Sessions, full, time.Now()}, time.Since(begun), err}
	}
}

// took takes the result of a refresh.
func (m *model) took(l listed) tea.Cmd {
	again := m.refresh.again
	m.refresh.running, m.refresh.again = false, false
	m.refresh.due = m.now().Add(refreshFactor * l.took)
	if l.full && !again {
		m.refresh.fullDue = m.now().Add(max(fullEvery, refreshFactor*l.took))
	}
	if m.unreachable = ""; l.err != nil {
		m.unreachable = sentence(l.err)
		m.refresh.fullDue = time.Time{} // events may be missing
	} else {
		m.jobs.replace(l.lists)
		if m.pane.err != nil {
			m.pane.of = rowKey{} // read it again
		}
	}
	next := m.arrange()
	if !again {
		return next
	}
	return tea.Batch(next, m.list())
}

// onTick lists again if that is due.
func (m *model) onTick() tea.Cmd {
	if m.now().Before(m.refresh.due) {
		return tick()
	}
	return tea.Batch(tick(), m.list())
}
