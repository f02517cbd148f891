package console

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// signWidth is the width of the sign before the composer, and of the blank after it.
const signWidth = 3

// barRows is the number of rows around the composer: its title, the status and the keys.
const barRows = 3

// height returns how many rows the entries have.
func (m *Model) height() int {
	return max(0, m.size.Rows-barRows-m.composer.area.Height())
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.View{AltScreen: true, WindowTitle: "troupe console"}
	var rows []string
	if m.overlay != nil {
		rows, v.Cursor = m.drawOverlay()
	} else {
		rows = m.drawEntries(m.height())
		at := len(rows) + 1
		rows = append(rows, m.drawTitle())
		rows = append(rows, m.drawComposer()...)
		rows = append(rows, m.drawStatus(), m.drawHint())
		if c := m.composer.area.Cursor(); c != nil {
			c.X, c.Y, c.Blink = c.X+signWidth, c.Y+at, false
			v.Cursor = c
		}
	}
	rows = rows[max(0, len(rows)-m.size.Rows):]
	v.SetContent(strings.Join(rows, "\n"))
	return v
}

// drawEntries returns the last rows of the entries, or those before them if they are scrolled.
func (m *Model) drawEntries(height int) []string {
	need := height + m.scrolled
	var parts [][]string
	for i := len(m.entries) - 1; i >= 0 && need > 0; i-- {
		part := append(slices.Clone(m.entries[i].draw(m.size.Cols)), "")
		parts, need = append(parts, part), need-len(part)
	}
	slices.Reverse(parts)
	rows := slices.Concat(parts...)
	end := max(0, len(rows)-m.scrolled)
	rows = rows[max(0, end-height):end]
	return append(make([]string, max(0, height-len(rows))), rows...)
}

// drawTitle draws the border above the composer, which shows its mode.
func (m *Model) drawTitle() string {
	style, title := styleDim, titleMessage
	switch m.composer.now().mark() {
	case asBang:
		style, title = styleMode, titleBang
	case asApart:
		style, title = styleMode, titleApart
	case asTool:
		style, title = styleMode, titleToolNo
		if m.terminal {
			title = titleTool
		}
	case asMessage:
	}
	right := " " + m.counts() + " ──"
	left := ansi.Truncate("── "+title+" ", max(0, m.size.Cols-ansi.StringWidth(right)), "")
	fill := max(0, m.size.Cols-ansi.StringWidth(left)-ansi.StringWidth(right))
	return style.Styled(ansi.Truncate(left+strings.Repeat("─", fill)+right, m.size.Cols, ""))
}

func (m *Model) drawComposer() []string {
	rows := strings.Split(m.composer.area.View(), "\n")
	sign := m.composer.now().mark().sign()
	if m.composer.now().mark() == asApart || m.composer.now().mark() == asBang && !m.composer.bang {
		sign = "!" // the rest is in the text
	}
	if m.composer.now().mark() != asMessage && !m.composer.bang && !m.composer.tool {
		sign = " "
	}
	for i := range rows {
		rows[i] = ansi.Truncate(sign+strings.Repeat(" ", signWidth-ansi.StringWidth(sign))+rows[i], m.size.Cols, "")
		sign = ""
	}
	return rows
}

func (m *Model) drawStatus() string {
	style := styleNone
	if m.bad {
		style = styleBad
	}
	text := ansi.Truncate(strings.ReplaceAll(clean(m.status), "\n", " "), m.size.Cols, "…")
	return strings.Join(styled(style, text), "")
}

func (m *Model) drawHint() string {
	hint := hintMessage
	switch {
	case m.now != nil:
		hint = hintRunning
	case m.composer.now().mark() != asMessage:
		hint = hintCommand
	}
	return styleDim.Styled(ansi.Truncate(hint, m.size.Cols, "…"))
}

// drawOverlay draws the overlay below the entries.
func (m *Model) drawOverlay() ([]string, *tea.Cursor) {
	frame := m.overlay.Draw(m.size)
	rows := m.drawEntries(max(0, m.size.Rows-len(frame)-1))
	at := len(rows)
	rows = append(append(rows, frame...), m.drawStatus())
	row, col, ok := m.overlay.Cursor(m.size)
	if !ok {
		return rows, nil
	}
	c := tea.NewCursor(min(col, m.size.Cols-1), at+row)
	c.Blink = false
	return rows, c
}
