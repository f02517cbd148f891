package console

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// press takes a key. The overlay gets all keys while it is there.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	if m.overlay != nil {
		m.forwarded(m.do.Key(sequence(k)))
		return nil
	}
	again := m.leaving
	m.leaving, m.status = false, ""
	switch k.String() {
	case "enter":
		return m.submit()
	case "ctrl+c":
		switch {
		case m.composer.clear():
		case m.now != nil:
			return m.do.Cancel(m.now.id)
		default:
			m.leaving = again
			return m.leave()
		}
		return nil
	case "ctrl+d":
		if m.composer.now() == (input{}) {
			m.leaving = again
			return m.leave()
		}
	case "ctrl+b":
		return m.promote()
	case "ctrl+o":
		return m.expand()
	case "ctrl+l":
		return tea.ClearScreen
	case "pgup":
		m.scroll(m.page())
		return nil
	case "pgdown":
		m.scroll(-m.page())
		return nil
	case "tab":
		if _, command, ok := m.composer.command(); ok {
			return m.do.Complete(command)
		}
		return nil
	case "esc":
		return m.escape(k)
	}
	cmd, _ := m.composer.press(k)
	return cmd
}

// escape ends the command in the foreground, else the mode of the composer, else what is being
// sent.
func (m *Model) escape(k tea.KeyPressMsg) tea.Cmd {
	if m.now != nil {
		return m.do.Cancel(m.now.id)
	}
	if cmd, handled := m.composer.press(k); handled {
		return cmd
	}
	if m.outbox.active != nil {
		m.do.CancelSend()
	}
	return nil
}

func (m *Model) paste(p tea.PasteMsg) tea.Cmd {
	if m.overlay != nil {
		m.forwarded(m.do.Paste(p.Content))
		return nil
	}
	return m.composer.paste(p)
}

func (m *Model) forwarded(ok bool) {
	if !ok {
		m.complain(textKeysLost)
	}
}

// completed takes completions: one replaces the last word, of several their common beginning.
func (m *Model) completed(c completedMsg) {
	marks, command, ok := m.composer.command()
	if !ok || command != c.command {
		return
	}
	words := c.words
	for _, earlier := range m.composer.history.commands(command) {
		words = append(words, earlier[len(lead(command)):])
	}
	if len(words) == 0 || command == "" {
		m.say(textNoWords)
		return
	}
	common := commonStart(words)
	now := m.composer.now()
	now.Text = marks + lead(command) + common
	m.composer.set(now)
	if len(words) > 1 {
		m.say(listed(words, m.size.Cols))
	}
}

// scroll moves the entries by rows towards the beginning.
func (m *Model) scroll(rows int) {
	total := 0
	for _, e := range m.entries {
		total += len(e.draw(m.size.Cols)) + 1
	}
	m.scrolled = max(0, min(m.scrolled+rows, total-m.height()))
}

// page returns how far PgUp scrolls.
func (m *Model) page() int { return max(1, m.height()-1) }

// counts describes what waits to be sent.
func (m *Model) counts() string {
	results, letters := m.outbox.unsent()
	text := fmt.Sprintf("%s queued", counted(results))
	if letters > 0 {
		text += ", " + textSending
	}
	return text
}
