package omp

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/internal/dialect"
)

// collapsedLines is how many lines of a screen a result takes that is not expanded.
const collapsedLines = 10

// View is how a result is to be drawn.
type View struct {
	Width     int // of the screen, in cells
	Expanded  bool
	ExpandKey string // what a user presses to expand, as ctrl+o
	// Full is all of the output; IsFull says that it is given. Session.Show fills both.
	Full   string
	IsFull bool
}

// Render draws a result of the tool bash: the last 10 lines of the screen under
// a line that says what is hidden, or all there is; then the timeout, and a warning if
// the output was cut.
func Render(r dialect.Result, v View) []string {
	text := r.Text
	if v.Expanded && v.IsFull {
		text = v.Full
	}
	all := visual(text, v.Width)
	if !v.Expanded && len(all) > collapsedLines {
		key := v.ExpandKey
		if key == "" {
			key = "ctrl+o"
		}
		shown := all[len(all)-collapsedLines:]
		all = append([]string{fmt.Sprintf(textHiddenLines, len(all)-len(shown), len(shown), len(all), key)}, shown...)
	}
	d, _ := r.Details.(*Details)
	if d == nil {
		return all
	}
	if footer := d.footer(); footer != "" {
		all = append(all, footer)
	}
	if d.Meta != nil && d.Meta.Truncation != nil {
		all = append(all, d.Meta.Truncation.warning())
	}
	return all
}

// visual are the lines of a screen that a text takes: a long one takes several.
func visual(text string, width int) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		if width <= 0 || ansi.StringWidth(line) <= width {
			all = append(all, line)
			continue
		}
		all = append(all, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
	}
	return all
}

func (d Details) footer() string {
	switch {
	case d.TimeoutDisabled:
		return textFooterNone
	case d.TimeoutSeconds == 0:
		return ""
	case d.RequestedTimeoutSeconds != nil:
		return fmt.Sprintf(textFooterAsked, number(d.TimeoutSeconds), number(*d.RequestedTimeoutSeconds))
	}
	return fmt.Sprintf(textFooter, number(d.TimeoutSeconds))
}

func (t Truncation) warning() string {
	if t.ArtifactID == "" {
		return fmt.Sprintf(textWarn, t.TruncatedBy)
	}
	return fmt.Sprintf(textWarnArtifact, t.TruncatedBy, t.ArtifactID)
}
