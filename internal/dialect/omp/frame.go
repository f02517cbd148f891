package omp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/messages"
)

// Frame is what a Console shows at a time.
type Frame struct {
	Title   string // Console
	Icon    string
	Command string // one line, without control characters
	// Badge says what becomes of the command: that it runs, its exit code, that it has
	// none, that its time was over or that it was killed.
	Badge   string
	Running bool
	// Rows are those of the command's terminal, without the blanks at their ends, and
	// Row and Col where its cursor is, from 0, if it is Visible.
	Rows     []string
	Row, Col int
	Visible  bool
	Footer   string
}

func frameOf(command string, job messages.Job, screen messages.ScreenText) Frame {
	f := Frame{
		Title: textConsole, Icon: iconRunning, Command: headline(command), Badge: textBadgeRuns, Running: job.Outcome == "",
		Rows: screen.Lines, Row: screen.Row, Col: screen.Col, Visible: screen.Visible, Footer: textFooterRuns,
	}
	if f.Running {
		return f
	}
	f.Icon, f.Footer, f.Visible = iconFailed, textFooterOver, false
	switch job.Outcome {
	case messages.Exited:
		if job.Shell == 0 {
			f.Icon = iconDone
		}
		f.Badge = fmt.Sprintf(textBadgeCode, job.Shell)
	case messages.TimedOut:
		f.Badge = textBadgeTime
	case messages.Cancelled:
		f.Badge = textBadgeKilled
	default:
		f.Badge = textBadgeNoCode
	}
	return f
}

// headline is a command as a header shows it.
func headline(command string) string {
	return strings.Join(strings.FieldsFunc(ansi.Strip(command), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// chrome is how many rows an overlay has beside those of the terminal: its border, its
// header and its footer.
const chrome = 4

// Draw draws the overlay for a screen: lines of text without control sequences, each as
// wide as the screen, at most OverlayRows of them. What has no room is cut: of the
// terminal the end is shown, or the part with the cursor.
func (f Frame) Draw(screen messages.Terminal) []string {
	size := PTYSize(screen)
	most := OverlayRows(screen.Rows) - chrome
	if screen == (messages.Terminal{}) {
		most = size.Rows
	}
	title := " " + f.Icon + " " + f.Title + " "
	badge := "[" + f.Badge + "]"
	room := max(0, size.Cols-ansi.StringWidth(badge)-1)
	all := []string{
		"╭" + cell(title, size.Cols, "─") + "╮",
		"│" + cell(ansi.Truncate("$ "+f.Command, room, "…"), room, " ") + cell(" "+badge, size.Cols-room, " ") + "│",
	}
	for _, row := range f.window(most) {
		all = append(all, "│"+cell(row, size.Cols, " ")+"│")
	}
	return append(all,
		"│"+cell(f.Footer, size.Cols, " ")+"│",
		"╰"+strings.Repeat("─", size.Cols)+"╯")
}

// window are the rows that have room.
func (f Frame) window(most int) []string {
	end := len(f.Rows)
	for end > 0 && f.Rows[end-1] == "" && (end-1 > f.Row || !f.Visible) {
		end--
	}
	from := max(0, end-most)
	if f.Visible {
		from = min(from, f.Row)
	}
	return slices.Clone(f.Rows[from:min(end, from+most)])
}

// cell is a text in a place of a width.
func cell(text string, width int, fill string) string {
	text = ansi.Truncate(text, width, "")
	return text + strings.Repeat(fill, max(0, width-ansi.StringWidth(text)))
}
