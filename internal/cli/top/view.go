package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/dustin/go-humanize"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// headLines are the lines above the rows: the summary and the titles. footLines are those at the
// end: the status line and the keys.
const (
	headLines = 2
	footLines = 2
)

// leastForPane is the height from which the screen has a pane.
const leastForPane = 14

// Styles, in the colours of the terminal's own palette: they suit dark and light ones.
// Attributes alone say the same without colours.
const (
	bold    = "\x1b[1m"
	faint   = "\x1b[2m"
	inverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	magenta = "\x1b[1;35m"
	cyan    = "\x1b[36m"
	plainly = "\x1b[m"
)

// paneHeight returns the lines of the pane, with its title.
func (m *model) paneHeight() int {
	left := m.height - headLines - footLines
	switch {
	case m.height < leastForPane:
		return 0
	case m.zoomed:
		return left - 4
	}
	return max(left*2/5, 4)
}

// tableHeight returns how many rows the screen shows.
func (m *model) tableHeight() int { return max(m.height-headLines-footLines-m.paneHeight(), 0) }

// View implements tea.Model.
func (m *model) View() tea.View {
	if !m.dirty && m.drawn.Content != "" {
		return m.drawn
	}
	m.dirty = false
	lines := make([]string, 0, m.height)
	lines = append(lines, m.summary())
	if m.mode == helpMode {
		lines = append(lines, m.help()...)
	} else {
		lines = append(lines, m.titles())
		lines = append(lines, m.tableLines()...)
		lines = append(lines, m.paneLines()...)
	}
	for len(lines) < m.height-footLines {
		lines = append(lines, "")
	}
	status, cursor := m.status()
	lines = append(lines[:max(m.height-footLines, 0)], status, m.keysLine())
	view := tea.NewView(strings.Join(lines[max(0, len(lines)-m.height):], "\n"))
	view.AltScreen, view.MouseMode = true, tea.MouseModeCellMotion
	if cursor >= 0 {
		view.Cursor = tea.NewCursor(min(cursor, m.width-1), m.height-footLines)
	}
	m.drawn = view
	return view
}

// styled puts a style around a text of width columns.
func styled(style, text string) string { return style + text + plainly }

// summary returns the first line.
func (m *model) summary() string {
	running, queued, waiting, ended, share, memory := m.jobs.counts()
	parts := []string{fmt.Sprintf("%s running", humanize.Comma(int64(running)))}
	for _, more := range []struct {
		n    int
		text string
	}{{waiting, "waiting for input"}, {queued, "queued"}, {ended, "finished"}} {
		if more.n > 0 {
			parts = append(parts, humanize.Comma(int64(more.n))+" "+more.text)
		}
	}
	parts = append(parts, "CPU "+shareText(share)+"%", bytesText(memory))
	text := " " + strings.Join(parts, ", ")
	order := m.sort
	if m.reverse {
		order += " reversed"
	}
	right := "by " + order
	if m.filter.text != "" {
		right = "/" + plain(m.filter.text, m.width) + "  " + right
	}
	right = out.Shorten(right, m.width/2)
	return styled(bold, fit("troupe top"+text, max(0, m.width-out.Cells(right)-2), false)+"  "+right)
}

// titles returns the line with the titles of the columns.
func (m *model) titles() string {
	cells := make([]string, len(m.columns))
	for i, c := range m.columns {
		cells[i] = c.title
	}
	return styled(bold+faint, joined(cells, m.columns, nil))
}

// joined joins cells to a line, each with its style if there are styles.
func joined(cells []string, columns []column, style func(int) string) string {
	var b strings.Builder
	for i, c := range columns {
		if c.width == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		text := fit(cells[i], c.width, c.right)
		if style != nil && style(i) != "" {
			text = styled(style(i), text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// tableLines returns the rows on the screen.
func (m *model) tableLines() []string {
	lines := make([]string, m.tableHeight())
	now := m.now()
	for i := range lines {
		if at := m.first + i; at < len(m.rows) {
			lines[i] = m.rowLine(m.rows[at], at == m.cursor, now)
		}
	}
	if len(m.rows) == 0 && len(lines) > 0 {
		lines[0] = styled(faint, fit(m.nothing(), m.width, false))
	}
	return lines
}

// nothing says why the table is empty.
func (m *model) nothing() string {
	switch {
	case m.filter.text != "":
		return "no job matches; Esc shows all"
	case m.jobs.all == nil:
		return "…"
	}
	return "no job: troupe run -b starts one"
}

// rowLine returns one row.
func (m *model) rowLine(r row, selected bool, now time.Time) string {
	cells, columns := r.cells(m.columns, now), m.columns
	if r.kind != jobRow && columns[nameColumn].width > 0 { // its name takes both columns
		columns = slices.Clone(columns)
		columns[idColumn].width += 1 + columns[nameColumn].width
		columns[nameColumn].width = 0
	}
	switch {
	case selected:
		return styled(inverse, joined(cells, columns, nil))
	case r.kind != jobRow:
		return styled(bold, joined(cells, columns, nil))
	}
	return joined(cells, columns, r.styleOf)
}

// styleOf returns the style of a cell: what needs a user stands out.
func (r row) styleOf(column int) string {
	if column != statusColumn || r.kind != jobRow {
		return ""
	}
	j := r.job
	switch {
	case j.WaitingForInput:
		return magenta
	case j.State.Ended() && (j.End.Outcome != messages.Exited || j.End.Shell() != 0):
		return red
	case j.State.Ended():
		return faint
	case j.State == messages.Running:
		return green
	}
	return cyan
}

// paneLines returns the pane: a title and the end of the output.
func (m *model) paneLines() []string {
	height := m.paneHeight()
	if height == 0 {
		return nil
	}
	lines := make([]string, 0, height)
	title := m.paneTitle()
	lines = append(lines, styled(faint, fit("── "+title+" "+strings.Repeat("─", max(0, m.width-out.Cells(title)-4)), m.width, false)))
	text := m.pane.lines
	if m.pane.err != nil {
		text = []string{sentence(m.pane.err)}
	}
	for _, line := range text[max(0, len(text)-height+1):] {
		lines = append(lines, paneLine(line, m.width))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// paneTitle names what the pane shows.
func (m *model) paneTitle() string {
	at, is := m.current()
	switch {
	case !is:
		return ""
	case at.kind == scopeRow:
		return "scope " + string(at.scope)
	case at.kind == sessionRow && at.info != nil:
		return plain(fmt.Sprintf("session %s of %s: %s %s in %s", at.session, at.scope, at.info.Backend, at.info.Shell, at.info.Dir), m.width)
	case at.kind == sessionRow:
		return "session " + string(at.session)
	}
	what := "output"
	if m.pane.screen {
		what = "screen"
	}
	return plain(fmt.Sprintf("%s of %s in %s, %s: %s", what, at.job.ID, at.job.Scope, at.job.Session, at.job.Command), m.width)
}

// tabWidth is the distance of tab stops.
const tabWidth = 8

// paneLine returns a line of an output, cut to width columns, without anything that acts on a
// terminal.
func paneLine(line string, width int) string {
	if strings.IndexByte(line, '\t') >= 0 {
		var b strings.Builder
		at := 0
		for part := range strings.SplitAfterSeq(line, "\t") {
			text, tab := strings.CutSuffix(part, "\t")
			b.WriteString(text)
			if at += out.Cells(text); tab {
				b.WriteString(strings.Repeat(" ", tabWidth-at%tabWidth))
				at += tabWidth - at%tabWidth
			}
		}
		line = b.String()
	}
	return out.Shorten(plain(line, width), width)
}

// status returns the status line, and the column of the cursor if a text is typed there.
func (m *model) status() (text string, cursor int) {
	prompt, typed, secret := "", field{}, false
	switch {
	case m.mode == filterMode:
		prompt, typed = "filter: ", m.filter
	case m.mode == lineMode:
		prompt, typed, secret = fmt.Sprintf("write to %s: ", m.lineFor.job.ID), m.line, m.lineFor.job.WaitingForSecret
	case m.failure != "":
		return styled(red, fit(plain(m.failure, m.width), m.width, false)), -1
	case m.unreachable != "" && m.mode != confirmMode:
		return styled(red, fit(plain(m.unreachable, m.width), m.width, false)), -1
	default:
		return fit(plain(m.note, m.width), m.width, false), -1
	}
	text = out.Shorten(prompt, m.width/2)
	text += typed.shown(m.width-out.Cells(text)-1, secret)
	return fit(text, m.width, false), out.Cells(text)
}

// keysLine returns the last line: the keys that fit.
func (m *model) keysLine() string {
	switch m.mode {
	case filterMode:
		return fit("Enter keep the filter  Esc show all", m.width, false)
	case lineMode:
		return fit("Enter write the line  Esc leave", m.width, false)
	case confirmMode:
		return fit("y yes  any other key: no", m.width, false)
	case helpMode:
		return fit("any key goes back", m.width, false)
	}
	var b strings.Builder
	for _, key := range shownKeys(m.width) {
		name, brief, _ := strings.Cut(key.label(), " ")
		b.WriteString(styled(bold, name) + " " + brief + strings.Repeat(" ", keyGap(m.width)))
	}
	return b.String()
}

// shownKeys returns the keys that the last line shows: as many as fit.
func shownKeys(width int) (keys []binding) {
	gap := keyGap(width)
	for _, key := range bindings() {
		if n := len(key.label()); n > 0 && n <= width {
			width -= n + gap
			keys = append(keys, key)
		}
	}
	return keys
}

// keyGap returns the spaces between two keys of the last line.
func keyGap(width int) int {
	if width < 90 {
		return 1
	}
	return 2
}

// label returns the key and what it does, for the last line; "": it is not there.
func (b binding) label() string {
	if b.brief == "" {
		return ""
	}
	return b.keys[0] + " " + b.brief
}

// keyAt returns what the key at a column of the last line does; nil: none is there.
func (m *model) keyAt(x int) func(*model) tea.Cmd {
	for _, key := range shownKeys(m.width) {
		n := len(key.label())
		if x >= 0 && x < n {
			return key.do
		}
		x -= n + keyGap(m.width)
	}
	return nil
}

// help returns the list of the keys.
func (m *model) help() []string {
	lines := []string{""}
	for _, b := range bindings() {
		lines = append(lines, fit(fmt.Sprintf("  %-8s %s", b.shown, b.about), m.width, false))
	}
	return append(lines, "", fit("  The mouse selects a row; a click on a title sorts by it.", m.width, false))
}
