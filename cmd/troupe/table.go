package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// table is rows under a head. On a terminal the last column ends at its edge, and
// where that leaves it no room, some others are left out and one is cut; elsewhere
// nothing is.
type table struct {
	head  []string
	rows  [][]string
	spare []int // the columns that a narrow terminal does without, the first one first
	long  int   // the column that is cut then, if that is not enough; 0: none
}

// lastRoom is what the last column shall have at least, as long as others can be
// left out.
const lastRoom = 12

// longRoom is what a column that is cut keeps: enough to tell most names apart.
const longRoom = 8

// columnGap is between two columns.
const columnGap = 2

// add takes a row. What could act on a terminal is escaped.
func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// write writes it for a terminal of a width; 0: as wide as it is. A column that
// is empty in every row is left out.
func (t *table) write(to io.Writer, width int) error {
	widths := make([]int, len(t.head))
	for i := range t.head {
		for _, row := range t.rows {
			widths[i] = max(widths[i], cells(row[i]))
		}
		if widths[i] > 0 || len(t.rows) == 0 {
			widths[i] = max(widths[i], len(t.head[i]))
		}
	}
	t.narrow(widths, width)
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			if width > 0 && i < len(row)-1 {
				cell = shorten(cell, widths[i])
			}
			line += cell + strings.Repeat(" ", widths[i]-cells(cell)+columnGap)
		}
		line = strings.TrimRight(line, " ")
		if width > 0 {
			line = shorten(line, width)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// narrow leaves out columns, whose width is 0 then, until the last one has room,
// and at last cuts the long one, so that those behind it are seen.
func (t *table) narrow(widths []int, width int) {
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
	for _, i := range t.spare {
		if missing() <= 0 {
			return
		}
		widths[i] = 0
	}
	if over := missing(); over > 0 && t.long > 0 {
		widths[t.long] = min(widths[t.long], max(longRoom, widths[t.long]-over))
	}
}

// widthOf is the width of a terminal, 0 if it is none.
func widthOf(f *os.File) int {
	width := 0
	_ = control(f, func(fd int) {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	})
	return width
}

// printTable shows a table on stdout.
func printTable(m *Main, t *table) error { return t.write(m.Out, widthOf(m.Out)) }

// ago is how long something took or has been, in one unit as people say it.
func ago(d time.Duration) string {
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
