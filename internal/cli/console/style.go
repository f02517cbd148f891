package console

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/internal/artifact"
)

// The styles of the console. bubbletea leaves out colors that the terminal does not have, or that
// NO_COLOR forbids.
var (
	styleCommand = ansi.Style{}.Bold()
	styleDim     = ansi.Style{}.Faint()
	styleGood    = ansi.Style{}.ForegroundColor(ansi.Green)
	styleBad     = ansi.Style{}.ForegroundColor(ansi.Red)
	styleWarning = ansi.Style{}.ForegroundColor(ansi.Yellow)
	styleMode    = ansi.Style{}.ForegroundColor(ansi.Magenta)
	styleNone    = ansi.Style{}
	styleMessage = ansi.Style{}.ForegroundColor(ansi.Cyan)
)

// styled applies a style to each row.
func styled(s ansi.Style, rows ...string) []string {
	for i, row := range rows {
		if row != "" {
			rows[i] = s.Styled(row)
		}
	}
	return rows
}

// clean returns a text that cannot change the terminal, with spaces for tabs.
func clean(text string) string {
	return strings.ReplaceAll(artifact.CleanText(text, artifact.CleanOptions{}), "\t", "    ")
}

// wrapped returns the rows of a clean text on a screen of a width.
func wrapped(text string, width int) []string {
	var rows []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if width <= 0 || ansi.StringWidth(line) <= width {
			rows = append(rows, line)
			continue
		}
		rows = append(rows, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
	}
	return rows
}
