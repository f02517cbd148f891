package omp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/messages"
)

// Frame is one state of a Console.
type Frame struct {
	Title   string // always Console
	Icon    string
	Command string // one line, without control characters
	// Badge is the state of the command: running, its exit code, exited without one, timed
	// out or killed.
	Badge   string
	Running bool
	// Rows are the rows of the command's terminal without trailing blanks. Row and Col are
	// the position of its cursor, from 0, if Visible.
	Rows     []string
	Row, Col int
	Visible  bool
	Footer   string
}

func frameOf(command string, job messages.Record, screen messages.ScreenText) Frame {
	f := Frame{
		Title: textConsole, Icon: iconRunning, Command: headline(command), Badge: textBadgeRuns, Running: job.End.Outcome == "",
		Rows: screen.Lines, Row: screen.Row, Col: screen.Col, Visible: screen.Visible, Footer: textFooterRuns,
	}
	if f.Running {
		return f
	}
	f.Icon, f.Footer, f.Visible = iconFailed, textFooterOver, false
	switch job.End.Outcome {
	case messages.Exited:
		if job.End.Shell() == 0 {
			f.Icon = iconDone
		}
		f.Badge = fmt.Sprintf(textBadgeCode, job.End.Shell())
	case messages.TimedOut:
		f.Badge = textBadgeTime
	case messages.Cancelled:
		f.Badge = textBadgeKilled
	default:
		f.Badge = textBadgeNoCode
	}
	return f
}

// headline returns a command as a header shows it.
func headline(command string) string {
	return strings.Join(strings.FieldsFunc(ansi.Strip(command), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// chrome is the number of overlay rows without the terminal: border, header and footer.
const chrome = 4

// Draw renders the overlay for a screen. It returns at most OverlayRows lines, each as wide
// as the screen, without control sequences. If the terminal does not fit, its end is shown,
// or the part with the cursor.
func (f Frame) Draw(screen messages.Terminal) []string {
	size := PTYSize(screen)
	title := " " + f.Icon + " " + f.Title + " "
	badge := "[" + f.Badge + "]"
	room := max(0, size.Cols-ansi.StringWidth(badge)-1)
	all := []string{
		"╭" + cell(title, size.Cols, "─") + "╮",
		"│" + cell(ansi.Truncate("$ "+f.Command, room, "…"), room, " ") + cell(" "+badge, size.Cols-room, " ") + "│",
	}
	for _, row := range f.window(shownRows(screen)) {
		all = append(all, "│"+cell(row, size.Cols, " ")+"│")
	}
	return append(all,
		"│"+cell(f.Footer, size.Cols, " ")+"│",
		"╰"+strings.Repeat("─", size.Cols)+"╯")
}

// Cursor returns the position of the terminal's cursor in what Draw returns, from 0. ok is
// false if the cursor is hidden.
func (f Frame) Cursor(screen messages.Terminal) (row, col int, ok bool) {
	from, end := f.bounds(shownRows(screen))
	return headRows + f.Row - from, 1 + f.Col, f.Visible && f.Row >= from && f.Row < end
}

// headRows is the number of overlay rows above the terminal.
const headRows = 2

// shownRows returns how many rows of the terminal fit on a screen.
func shownRows(screen messages.Terminal) int {
	if screen == (messages.Terminal{}) {
		return PTYSize(screen).Rows
	}
	return OverlayRows(screen.Rows) - chrome
}

// window returns the rows that fit.
func (f Frame) window(most int) []string {
	from, end := f.bounds(most)
	return slices.Clone(f.Rows[from:end])
}

// bounds returns the range of the rows that fit.
func (f Frame) bounds(most int) (from, end int) {
	end = len(f.Rows)
	for end > 0 && f.Rows[end-1] == "" && (end-1 > f.Row || !f.Visible) {
		end--
	}
	from = max(0, end-most)
	if f.Visible {
		from = min(from, f.Row)
	}
	return from, min(end, from+most)
}

// cell pads or cuts a text to a width.
func cell(text string, width int, fill string) string {
	text = ansi.Truncate(text, width, "")
	return text + strings.Repeat(fill, max(0, width-ansi.StringWidth(text)))
}
