package top

import (
	tea "charm.land/bubbletea/v2"
)

// wheelRows is how many rows a step of the wheel moves.
const wheelRows = 3

// click selects the row under the mouse, or sorts by the column whose title it is. A click on
// the keys in the last line is that key.
func (m *model) click(at tea.Mouse) tea.Cmd {
	if at.Button != tea.MouseLeft || m.mode != tableMode {
		return nil
	}
	switch row := at.Y - headLines; {
	case at.Y == headLines-1:
		if key := titleAt(m.columns, at.X); key != "" {
			return m.sortBy(key)
		}
	case row >= 0 && row < m.tableHeight() && m.first+row < len(m.rows):
		return m.choose(m.first + row)
	case at.Y == m.height-1:
		if do := m.keyAt(at.X); do != nil {
			return do(m)
		}
	}
	return nil
}

// wheel moves the selection.
func (m *model) wheel(at tea.Mouse) tea.Cmd {
	switch {
	case m.mode != tableMode:
	case at.Button == tea.MouseWheelUp:
		return m.move(-wheelRows)
	case at.Button == tea.MouseWheelDown:
		return m.move(wheelRows)
	}
	return nil
}
