package omp

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/internal/dialect"
)

// collapsedLines is the number of screen lines of a collapsed result.
const collapsedLines = 10

// View says how to draw a result.
type View struct {
	Width     int // of the screen, in cells
	Expanded  bool
	ExpandKey string // the key that expands a result, such as ctrl+o
	// Full is the whole output, if IsFull. Session.Show sets both.
	Full   string
	IsFull bool
}

// Render draws a result of bash. A collapsed one has the last 10 screen lines,
// below a line about the hidden ones. The timeout follows, and a warning if the output was
// cut.
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

// visual returns the screen lines of a text, with long lines wrapped.
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
