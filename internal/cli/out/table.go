package out

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"troupe/internal/cli"
)

// Table is rows under a head. On a terminal the last column ends at its edge, and
// where that leaves it no room, some others are left out and one is cut; elsewhere
// nothing is.
type Table struct {
	Head  []string
	rows  [][]string
	Spare []int // the columns that a narrow terminal does without, the first one first
	Long  int   // the column that is cut then, if that is not enough; 0: none
}

// lastRoom is what the last column shall have at least, as long as others can be
// left out.
const lastRoom = 12

// longRoom is what a column that is cut keeps: enough to tell most names apart.
const longRoom = 8

// columnGap is between two columns.
const columnGap = 2

// Add takes a row. What could act on a terminal is escaped.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// Write writes it for a terminal of a width; 0: as wide as it is. A column that
// is empty in every row is left out.
func (t *Table) Write(to io.Writer, width int) error {
	widths := make([]int, len(t.Head))
	for i := range t.Head {
		for _, row := range t.rows {
			widths[i] = max(widths[i], Cells(row[i]))
		}
		if widths[i] > 0 || len(t.rows) == 0 {
			widths[i] = max(widths[i], len(t.Head[i]))
		}
	}
	t.narrow(widths, width)
	var b strings.Builder
	for _, row := range append([][]string{t.Head}, t.rows...) {
		line := ""
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			if width > 0 && i < len(row)-1 {
				cell = Shorten(cell, widths[i])
			}
			line += cell + strings.Repeat(" ", widths[i]-Cells(cell)+columnGap)
		}
		line = strings.TrimRight(line, " ")
		if width > 0 {
			line = Shorten(line, width)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// narrow leaves out columns, whose width is 0 then, until the last one has room,
// and at last cuts the long one, so that those behind it are seen.
func (t *Table) narrow(widths []int, width int) {
	if width == 0 {
		return
	}
	last := len(widths) - 1
	missing := func() int {
		need := min(lastRoom, widths[last])
		for _, w := range widths[:last] {
			if w > 0 {
				need += w + columnGap
			}
		}
		return need - width
	}
	for _, i := range t.Spare {
		if missing() <= 0 {
			return
		}
		widths[i] = 0
	}
	if over := missing(); over > 0 && t.Long > 0 {
		widths[t.Long] = min(widths[t.Long], max(longRoom, widths[t.Long]-over))
	}
}

// widthOf is the width of a terminal, 0 if it is none.
func widthOf(f *os.File) int {
	width := 0
	_ = cli.Control(f, func(fd int) {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	})
	return width
}

// PrintTable shows a table on stdout.
func PrintTable(m *cli.Main, t *Table) error { return t.Write(m.Out, widthOf(m.Out)) }

// Ago is how long something took or has been, in one unit as people say it.
func Ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 2*day:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d/day)) + "d"
}

const day = 24 * time.Hour

// Plural returns a number and its noun: 1 job, 2 jobs.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
