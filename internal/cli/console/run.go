package console

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/dialect/codelia"
)

// run starts a command, unless one runs in the foreground: then the input stays.
func (m *Model) run(kind mode, command string) tea.Cmd {
	if m.now != nil {
		m.complain(codelia.Busy(keyPromote) + textBusyEsc)
		return nil
	}
	m.composer.submitted()
	m.started++
	e := &execution{id: m.started, mode: kind, command: command}
	m.add(e)
	m.now = e
	if kind == asTool {
		return m.do.Tool(e.id, command)
	}
	m.say(codelia.Started(command))
	return m.do.Bang(e.id, command)
}

// executed takes what has become of an execution.
func (m *Model) executed(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case knownMsg:
		if e := m.find(msg.id); e != nil {
			e.job = msg.job
		}
	case outputMsg:
		if e := m.find(msg.id); e != nil {
			e.progressed(msg.text, msg.cut)
		}
	case bangEndedMsg:
		m.bangEnded(msg)
	case toolEndedMsg:
		m.toolEnded(msg)
	case progressMsg:
		for _, e := range m.all {
			if e.task == msg.job && e.task != "" {
				e.progress(msg.result)
			}
		}
		m.forget()
	case promotedMsg:
		m.promoted(msg)
	case loadedMsg:
		m.loaded(msg)
	case shownMsg:
		if e := m.find(msg.id); e != nil {
			e.shown, e.shownW, e.rows = msg.rows, msg.width, nil
		}
	}
	return nil
}

// bangEnded queues the result of a ! command, also of one in the background.
func (m *Model) bangEnded(msg bangEndedMsg) {
	e := m.find(msg.id)
	if e == nil {
		return
	}
	background := e.state == inBackground
	if e.settleBang(msg); msg.job != "" {
		e.job = msg.job
	}
	if m.now == e {
		m.now = nil
	}
	if msg.err == nil && e.mode == asBang {
		m.outbox.queue.Add(msg.result)
	}
	switch {
	case msg.err != nil:
		m.complain(codelia.ExecFailed(msg.err))
	case background:
		m.notice(e, msg.result)
	default:
		text := codelia.Done(msg.result, m.outbox.queue.Len())
		if e.mode == asApart {
			text += "; " + textApart
		}
		m.say(text)
	}
	m.forget()
}

// notice says that a command in the background has ended, with the end of its output.
func (m *Model) notice(e *execution, r codelia.ExecResult) {
	lines := []string{fmt.Sprintf(textEnded, e.command, e.ending())}
	lines = append(lines, codelia.ShownStream(r.Stdout, r.Truncated.Stdout, r.StdoutCacheID)...)
	lines = append(lines, codelia.ShownStream(r.Stderr, r.Truncated.Stderr, r.StderrCacheID)...)
	m.note(styleMessage, strings.Join(lines, "\n"))
	if e.mode == asBang {
		m.say(codelia.Done(r, m.outbox.queue.Len()))
	}
}

func (m *Model) toolEnded(msg toolEndedMsg) {
	e := m.find(msg.id)
	if e == nil {
		return
	}
	e.settleTool(msg)
	if m.now == e {
		m.now, m.overlay = nil, nil
	}
	m.forget()
}

// promote moves the command in the foreground to the background.
func (m *Model) promote() tea.Cmd {
	if m.now == nil {
		m.complain(textNothingRuns)
		return nil
	}
	return m.do.Promote(m.now.id)
}

func (m *Model) promoted(msg promotedMsg) {
	e := m.find(msg.id)
	switch {
	case e == nil || e.ended():
	case msg.err != nil:
		m.complain(fmt.Sprintf(textNotPromoted, msg.err))
	case e.mode != asTool: // the tool says so itself
		e.state, e.rows = inBackground, nil
		if m.now == e {
			m.now = nil
		}
		m.say(codelia.Detached(string(e.job)))
	}
}

// expand shows the whole output of the last command, or its end again.
func (m *Model) expand() tea.Cmd {
	if len(m.all) == 0 {
		m.complain(textNothingHere)
		return nil
	}
	e := m.all[len(m.all)-1]
	e.expanded, e.rows = !e.expanded, nil
	m.scrolled = 0
	switch {
	case !e.expanded:
		e.full, e.loaded, e.shown, e.shownW = "", false, nil, 0
	case e.result != nil:
		return m.do.Show(e.id, *e.result, m.size.Cols)
	case e.ended() && e.job != "":
		return m.do.Load(e.id, e.job)
	}
	return nil
}

func (m *Model) loaded(msg loadedMsg) {
	e := m.find(msg.id)
	switch {
	case e == nil || !e.expanded:
	case msg.err != nil:
		m.complain(fmt.Sprintf(textNotLoaded, msg.err))
	default:
		e.full, e.fullCut, e.loaded, e.rows = clean(msg.text), msg.cut, true, nil
	}
}

// forget drops executions that have ended and are no longer shown.
func (m *Model) forget() {
	shown := map[entry]bool{}
	for _, e := range m.entries {
		shown[e] = true
	}
	kept := m.all[:0]
	for _, e := range m.all {
		if !e.ended() || shown[e] {
			kept = append(kept, e)
		}
	}
	m.all = kept
}
