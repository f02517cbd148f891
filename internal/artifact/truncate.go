package artifact

import (
	"strconv"
	"strings"
)

// Limits of a text that is shown; a field that is 0 is no limit.
type Limits struct {
	Lines int64
	Bytes int64
}

// The limits of the families that have them.
var (
	// CutLimits are those of Head and Tail where none are named.
	CutLimits = Limits{Lines: 3000, Bytes: 50 << 10}

	// KeepLimits are those at or under which an output is shown whole.
	KeepLimits = Limits{Lines: 2000, Bytes: 51_200}
)

// Exceeded says whether an output is over a limit.
func (l Limits) Exceeded(size, lines int64) bool {
	return l.Bytes > 0 && size > l.Bytes || l.Lines > 0 && lines > l.Lines
}

// The limits that decide a cut.
const (
	ByLines = "lines"
	ByBytes = "bytes"
)

// Truncated is a text that was made to keep to limits. Lines are newlines and one more.
type Truncated struct {
	Text        string
	Truncated   bool
	By          string // ByLines or ByBytes; "" if it is whole
	TotalLines  int64
	TotalBytes  int64
	OutputLines int64
	OutputBytes int64

	LastLinePartial bool // the first line shown is the end of one that is too long
}

func whole(s string) Truncated {
	lines := int64(strings.Count(s, "\n")) + 1
	size := int64(len(s))
	return Truncated{Text: s, TotalLines: lines, TotalBytes: size, OutputLines: lines, OutputBytes: size}
}

// shows makes the cut that shows kept, so many lines of the text.
func (c Truncated) shows(kept string, lines int64, by string) Truncated {
	c.Text, c.By, c.Truncated = kept, by, true
	c.OutputLines, c.OutputBytes = lines, int64(len(kept))
	return c
}

// TailOf keeps the last lines of s that keep to the limits; of a last line that is
// too long alone it keeps the end, in whole runes.
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
	if by == ByBytes && c.Text == "" { // the last line, or all but a newline behind it
		c = c.shows(last(s, int(l.Bytes)), max(1, lines), by)
		if lines == 1 && c.Text != "" { // of the line before, then
			c.OutputLines = 2
		}
		c.LastLinePartial = true
	}
	return c
}

// CutAtLine keeps at most n bytes of s: whole lines, or the beginning of the first if
// it is too long, in whole runes.
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

// Thousands writes a number as people read it: 8,432.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(digits)]
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}
