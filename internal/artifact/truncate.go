package artifact

import (
	"strconv"
	"strings"
)

// Limits bound a text that is shown; 0 means no limit.
type Limits struct {
	Lines int64
	Bytes int64
}

// Limits that the dialects use.
var (
	// CutLimits apply to Head and Tail without limits of their own.
	CutLimits = Limits{Lines: 3000, Bytes: 50 << 10}

	// KeepLimits bound an output that is shown whole.
	KeepLimits = Limits{Lines: 2000, Bytes: 51_200}
)

// Exceeded reports whether an output is over a limit.
func (l Limits) Exceeded(size, lines int64) bool {
	return l.Bytes > 0 && size > l.Bytes || l.Lines > 0 && lines > l.Lines
}

// Values of Truncated.By: the limit that decided.
const (
	ByLines = "lines"
	ByBytes = "bytes"
)

// Truncated is a text within limits. Lines are newlines plus one.
type Truncated struct {
	Text        string
	Truncated   bool
	By          string // ByLines or ByBytes; "" if the text is whole
	TotalLines  int64
	TotalBytes  int64
	OutputLines int64
	OutputBytes int64

	LastLinePartial bool // Text is the end of one line that is too long
}

func whole(s string) Truncated {
	lines := int64(strings.Count(s, "\n")) + 1
	size := int64(len(s))
	return Truncated{Text: s, TotalLines: lines, TotalBytes: size, OutputLines: lines, OutputBytes: size}
}

// shows returns c with the text kept, which is so many lines.
func (c Truncated) shows(kept string, lines int64, by string) Truncated {
	c.Text, c.By, c.Truncated = kept, by, true
	c.OutputLines, c.OutputBytes = lines, int64(len(kept))
	return c
}

// TailOf keeps the last lines of s within the limits. Of a last line that is too long
// alone it keeps the end, in whole runes.
func TailOf(s string, l Limits) Truncated {
	c := whole(s)
	if !l.Exceeded(c.TotalBytes, c.TotalLines) {
		return c
	}
	at, lines, by := len(s), int64(0), ByLines
	for end := len(s); l.Lines <= 0 || lines < l.Lines; lines++ {
		from := strings.LastIndexByte(s[:end], '\n') + 1
		if l.Bytes > 0 && int64(len(s)-from) > l.Bytes {
			by = ByBytes
			break
		}
		if at = from; from == 0 {
			lines++
			break
		}
		end = from - 1
	}
	c = c.shows(s[at:], lines, by)
	if by == ByBytes && c.Text == "" { // the last line is too long, or the one before a final newline
		c = c.shows(last(s, int(l.Bytes)), max(1, lines), by)
		if lines == 1 && c.Text != "" { // the final newline and a part of the line before it
			c.OutputLines = 2
		}
		c.LastLinePartial = true
	}
	return c
}

// CutAtLine keeps at most n bytes of s in whole lines. Of a first line that is too long
// it keeps the beginning, in whole runes.
func CutAtLine(s string, n int) (kept string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	kept = first(s, n)
	if at := strings.LastIndexByte(kept, '\n') + 1; at > 0 {
		kept = kept[:at]
	}
	return kept, true
}

// Thousands formats n with commas: 8,432.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(digits)]
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}
