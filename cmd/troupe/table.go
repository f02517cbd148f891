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
// where that leaves it no room, some others are left out; elsewhere nothing is cut.
type table struct {
	head  []string
	rows  [][]string
	spare []int // the columns that a narrow terminal does without, the first one first
}

// lastRoom is what the last column shall have at least, as long as others can be
// left out.
const lastRoom = 12

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

// narrow leaves out columns, whose width is 0 then, until the last one has room.
func (t *table) narrow(widths []int, width int) {
	if width == 0 {
		return
	}
	for _, i := range t.spare {
		room := width
		for _, w := range widths[:len(widths)-1] {
			if w > 0 {
				room -= w + columnGap
			}
		}
		if room >= min(lastRoom, widths[len(widths)-1]) {
			return
		}
		widths[i] = 0
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

// print shows a table on stdout.
func (m *Main) print(t *table) error { return t.write(m.Out, widthOf(m.Out)) }

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
