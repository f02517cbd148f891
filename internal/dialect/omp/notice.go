package omp

import (
	"fmt"
	"strings"

	"troupe/internal/dialect"
)

// notice adds the line about truncation to a cut result, before the final exit line
// . A result that has the line stays unchanged.
func notice(r dialect.Result) dialect.Result {
	d, _ := r.Details.(*Details)
	if d == nil || d.Meta == nil || d.Meta.Truncation == nil {
		return r
	}
	mark := "[" + d.Meta.Truncation.notice() + "]"
	last := ""
	if d.ExitCode != nil {
		last = exitLine(*d.ExitCode)
	}
	before, ends := strings.CutSuffix(r.Text, last)
	if last == "" || !ends {
		before, last = r.Text, ""
	}
	before = strings.TrimRight(before, "\n")
	if before == mark || strings.HasSuffix(before, "\n\n"+mark) {
		return r
	}
	r.Text = blocks(before, mark, last)
	return r
}

// notice renders which lines of how many are shown, and where the rest is.
func (t Truncation) notice() string {
	text := fmt.Sprintf(textShowing, t.ShownRange.Start, t.ShownRange.End, t.TotalLines)
	if t.ShownRange.End < t.ShownRange.Start {
		text = fmt.Sprintf(textShowingNone, t.OutputLines, t.TotalLines)
	}
	if t.TruncatedBy == "bytes" {
		limit := t.MaxBytes
		if limit == 0 {
			limit = t.OutputBytes
		}
		text += fmt.Sprintf(textByteLimit, size(limit))
	}
	if t.Direction == "head" && t.NextOffset > 0 {
		text += ". " + fmt.Sprintf(textNextOffset, t.NextOffset)
	}
	if t.ArtifactID != "" {
		text += ". " + fmt.Sprintf(textFull, t.ArtifactID)
	}
	return text
}

// size formats bytes for people: 512B, 50.0KB.
func size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	amount := float64(n)
	for _, unit := range []string{"KB", "MB", "GB"} {
		if amount /= 1 << 10; amount < 1<<10 || unit == "GB" {
			return fmt.Sprintf("%.1f%s", amount, unit)
		}
	}
	return ""
}
