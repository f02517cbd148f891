package artifact

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// The naive readers: all of a file in memory, all of its lines, all of their characters.

func modelLines(s string, lastEmpty bool) []string {
	lines := strings.Split(s, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	if last := len(lines) - 1; lines[last] == "" && !lastEmpty {
		lines = lines[:last]
	}
	return lines
}

// modelChars are the characters of a line as text; of no use for one that is longer
// than maxCluster.
func modelChars(line string) []string {
	var out []string
	for rest, state := text([]byte(line)), -1; rest != ""; {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		out = append(out, c)
	}
	return out
}

// modelLine is what is shown of a line, within so many characters and bytes.
func modelLine(line string, maxChars, room int) (shown string, cut, fits bool) {
	chars := modelChars(line)
	n := 0
	for i, c := range chars {
		switch {
		case maxChars > 0 && i == maxChars:
			return strings.Join(chars[:i], ""), true, true
		case n+len(c) > room && i == 0:
			return first(c, room), true, false
		case n+len(c) > room:
			return strings.Join(chars[:i], ""), true, false
		}
		n += len(c)
	}
	return strings.Join(chars, ""), false, true
}

func modelPage(s string, lastEmpty bool, offset int64, o PageOptions) Page {
	lines := modelLines(s, lastEmpty)
	n := int64(len(lines))
	if offset >= n {
		return Page{Next: n, Past: offset > 0, Total: n}
	}
	p, used := Page{Total: -1, Next: offset}, 0
	for i := offset; i < n && (o.Limit <= 0 || len(p.Lines) < o.Limit); i++ {
		room := o.Bytes - used - o.Overhead - 1
		shown, cut, fits := modelLine(lines[i], o.LineMax, max(0, room))
		if (!fits || room < 0) && len(p.Lines) > 0 {
			p.Full = true
			break
		}
		p.Lines = append(p.Lines, Line{Number: i, Text: shown, Cut: cut})
		if cut {
			p.Cut = append(p.Cut, i)
		}
		p.Next = i + 1
		used += len(shown) + o.Overhead + 1
		if p.Full = !fits; p.Full {
			break
		}
	}
	if p.More = p.Next < n; !p.More {
		p.Full, p.Total = false, n
	}
	return p
}

func modelPart(line string, from, limit int64) LinePart {
	chars := modelChars(line)
	n := int64(len(chars))
	from = min(from, n)
	to := min(from+limit, n)
	return LinePart{Length: n, From: from, To: to, Text: strings.Join(chars[from:to], ""), More: to < n}
}

// modelGrep is the search without a bound of bytes.
func modelGrep(s string, lastEmpty bool, what string, o GrepOptions) Matches {
	lines := modelLines(s, lastEmpty)
	match := func(line string) int { return strings.Index(line, what) }
	if o.Regex {
		re := regexp.MustCompile(what)
		match = func(line string) int {
			if loc := re.FindStringIndex(line); loc != nil {
				return loc[0]
			}
			return -1
		}
	}
	var m Matches
	last := o.From - 1
	shows := map[int64]bool{}
	var hits []int64
	for i := o.From; i < int64(len(lines)); i++ {
		if match(lines[i]) < 0 {
			continue
		}
		if len(hits) == o.Max {
			m.More, m.Next = true, i
			break
		}
		hits = append(hits, i)
		for j := max(o.From, i-int64(o.Before)); j <= min(int64(len(lines))-1, i+int64(o.After)); j++ {
			shows[j] = true
		}
	}
	m.Found = len(hits)
	for i := o.From; i < int64(len(lines)); i++ {
		if !shows[i] {
			continue
		}
		if len(m.Blocks) == 0 || last != i-1 {
			m.Blocks = append(m.Blocks, nil)
		}
		last = i
		l := Line{Number: i}
		l.Text, l.Cut, _ = modelLine(lines[i], o.LineMax, 1<<30)
		for _, h := range hits {
			if l.Match = h == i; l.Match {
				break
			}
		}
		if l.Match && l.Cut {
			before := len(text([]byte(lines[i][:match(lines[i])])))
			for _, c := range modelChars(lines[i]) {
				if before <= 0 {
					break
				}
				before -= len(c)
				l.Column++
			}
		}
		m.Blocks[len(m.Blocks)-1] = append(m.Blocks[len(m.Blocks)-1], l)
	}
	return m
}
