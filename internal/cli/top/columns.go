package top

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// column is a column of the table, or of less than its width on a narrow terminal.
type column struct {
	title, sort string // sort: the key that a click on the title selects; "": none
	width       int
	right       bool
}

// The columns that a wide terminal shows. The command gets the rest of the line.
const (
	idColumn = iota
	nameColumn
	statusColumn
	cpuColumn
	memoryColumn
	outputColumn
	commandColumn
)

// leastCommand is the width that the command gets before other columns get more than they need.
const leastCommand = 10

// columnsFor returns the columns for a terminal of so many columns. Columns of width 0 are not
// shown.
func columnsFor(width int) []column {
	c := []column{
		idColumn:      {"ID", "age", 9, false},
		nameColumn:    {"NAME", "name", 8, false},
		statusColumn:  {"STATUS", "duration", 23, false},
		cpuColumn:     {"CPU%", "cpu", 5, true},
		memoryColumn:  {"MEMORY", "memory", 8, true},
		outputColumn:  {"OUTPUT", "output", 8, true},
		commandColumn: {"COMMAND", "", 0, false},
	}
	left := width
	for _, one := range c[:commandColumn] {
		left -= one.width + 1
	}
	for _, spare := range []int{outputColumn, memoryColumn, nameColumn, cpuColumn} {
		if left >= leastCommand {
			break
		}
		left += c[spare].width + 1
		c[spare].width = 0
	}
	for _, cut := range []int{statusColumn, idColumn} { // a very narrow terminal
		less := min(max(-left, 0), c[cut].width)
		c[cut].width -= less
		left += less
	}
	for _, grow := range []struct{ column, to, from int }{{statusColumn, 30, 24}, {nameColumn, 20, 40}, {idColumn, 14, 60}} {
		if more := min(grow.to-c[grow.column].width, left-grow.from); more > 0 && c[grow.column].width > 0 {
			c[grow.column].width += more
			left -= more
		}
	}
	c[commandColumn].width = max(left, 0)
	return c
}

// titleAt returns the sort key of the column at a place of the title line; "": none.
func titleAt(columns []column, x int) string {
	for _, c := range columns {
		if c.width == 0 {
			continue
		}
		if x < c.width {
			return c.sort
		}
		x -= c.width + 1
	}
	return ""
}

// fit pads or cuts a text to so many columns. The text must have no control characters.
func fit(text string, width int, right bool) string {
	text = out.Shorten(text, width)
	space := strings.Repeat(" ", max(0, width-out.Cells(text)))
	if right {
		return space + text
	}
	return text + space
}

// plain returns a text of a job or a client for a cell of at most width columns. It looks at no
// more of the text than a cell can show.
func plain(text string, width int) string {
	if most := 4 * (width + 1); len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return out.Clean(text)
}

// cells returns the cells of a row, in the order of the columns.
func (r row) cells(columns []column, now time.Time) []string {
	indent := strings.Repeat(" ", min(r.depth, 4))
	switch r.kind {
	case scopeRow:
		return []string{indent + string(r.scope), "", r.scopeText(), shareText(r.share), bytesText(r.memory), bytesText(int64(r.written)), ""}
	case sessionRow:
		status, dir := "ended", ""
		if r.info != nil {
			status, dir = sessionText(*r.info, now), r.info.Dir
		}
		return []string{indent + string(r.session), "", status, shareText(r.share), bytesText(r.memory), bytesText(int64(r.written)), plain(dir, columns[commandColumn].width)}
	}
	cpu, memory := "", ""
	if live := r.job.Live; live != nil && live.Processes > 0 {
		memory = bytesText(live.Memory)
		if r.job.share >= 0 {
			cpu = shareText(r.job.share)
		}
	}
	return []string{
		indent + string(r.job.ID), plain(r.job.Name, columns[nameColumn].width), statusIn(out.StatusText(r.job.Record, now), columns[statusColumn].width),
		cpu, memory, out.OutputText(r.job.Record), plain(r.job.Command, columns[commandColumn].width),
	}
}

// statusIn returns the state of a job for a cell of so many columns: what a running job waits for
// says that it runs.
func statusIn(text string, width int) string {
	if rest, running := strings.CutPrefix(text, string(messages.Running)+" "); running && len(text) > width {
		return rest
	}
	return text
}

// scopeText says what a scope has.
func (r row) scopeText() string {
	text := out.Plural(r.jobs, "job")
	if r.scopes != nil && r.scopes.Quota.Jobs > 0 {
		text += " of " + strconv.Itoa(r.scopes.Quota.Jobs)
	}
	return text
}

// sessionText describes an open session as troupe sessions does.
func sessionText(s messages.SessionInfo, now time.Time) string {
	switch {
	case !s.Idle():
		return "session, busy"
	case s.Used.IsZero():
		return "session, idle"
	}
	return "session, idle " + out.Ago(now.Sub(s.Used))
}

// shareText formats a share of a processor in percent.
func shareText(share float64) string {
	if share < 9.95 {
		return strconv.FormatFloat(share, 'f', 1, 64)
	}
	return strconv.FormatFloat(share, 'f', 0, 64)
}

// bytesText formats a size.
func bytesText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
