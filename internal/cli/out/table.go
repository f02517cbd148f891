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

// Table is rows under a head. On a terminal the last column is cut at the edge. If it has
// too little room, other columns are omitted and one is cut. Elsewhere the table is whole.
type Table struct {
	Head  []string
	rows  [][]string
	Spare []int // columns that a narrow terminal omits, in this order
	Long  int   // column that is cut if that is not enough; 0: none
}

// lastRoom is the width that the last column gets while other columns can be omitted.
const lastRoom = 12

// longRoom is the least width of the column Long: enough to distinguish most names.
const longRoom = 8

// columnGap is the number of spaces between two columns.
const columnGap = 2

// Add adds a row. It escapes the cells with Clean.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// Write prints the table for a terminal of width columns; 0 for any width. It omits columns
// without text.
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

// narrow sets the widths of spare columns to 0 until the last one has room. If that is not
// enough, it cuts the column Long, so that the columns after it are visible.
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
	if excess := missing(); excess > 0 && t.Long > 0 {
		widths[t.Long] = min(widths[t.Long], max(longRoom, widths[t.Long]-excess))
	}
}

// widthOf returns the width of a terminal, 0 for other files.
func widthOf(f *os.File) int {
	width := 0
	_ = cli.Control(f, func(fd int) {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	})
	return width
}

// PrintTable prints a table on stdout.
func PrintTable(m *cli.Main, t *Table) error { return t.Write(m.Out, widthOf(m.Out)) }

// Ago formats a duration in one unit, from s to d.
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
