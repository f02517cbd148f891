package minimize

import (
	"fmt"
	"regexp"
	"strings"
)

// pipeline is a filter that is ready to run.
type pipeline struct {
	strip   *regexp.Regexp // nil: nothing
	replace []replacing
	max     int
	empty   string
}

type replacing struct {
	pattern *regexp.Regexp
	with    string
}

func (f filter) compile() *pipeline {
	p := &pipeline{max: f.MaxLines, empty: f.OnEmpty}
	if len(f.Strip) > 0 {
		p.strip = regexp.MustCompile(anyOf(f.Strip))
	}
	for _, r := range f.Replace {
		p.replace = append(p.replace, replacing{regexp.MustCompile(r.Pattern), r.Replacement})
	}
	return p
}

// anyOf is one pattern for several: a line is looked at once.
func anyOf(patterns []string) string {
	var all []string
	for _, pattern := range patterns {
		all = append(all, "(?:"+pattern+")")
	}
	return strings.Join(all, "|")
}

// apply takes out lines, rewrites the others, and keeps so many. Where a success has nothing
// left it says what the filter says of that.
func (p *pipeline) apply(text string, exit int) string {
	lines, end := split(text)
	kept := make([]string, 0, len(lines))
	blank := true
	var last, becomes string
	var stays bool
	for i, line := range lines {
		if i == 0 || line != last { // equal lines often come together
			last = line
			becomes, stays = p.line(line)
		}
		if stays {
			blank = blank && strings.TrimSpace(becomes) == ""
			kept = append(kept, becomes)
		}
	}
	if blank && p.empty != "" && exit == 0 {
		return p.empty + "\n"
	}
	if blank {
		return ""
	}
	return join(capped(kept, p.max), end)
}

// maxLine is the longest line that is looked at, in bytes: noise is shorter.
const maxLine = 2000

// line is what becomes of one line, and whether it stays at all.
func (p *pipeline) line(line string) (string, bool) {
	if len(line) > maxLine {
		return line, true
	}
	bare := strings.TrimSuffix(line, "\r")
	if p.strip != nil && p.strip.MatchString(bare) {
		return "", false
	}
	if len(p.replace) == 0 {
		return line, true
	}
	for _, r := range p.replace {
		bare = r.pattern.ReplaceAllString(bare, r.with)
	}
	return bare + line[len(strings.TrimSuffix(line, "\r")):], true
}

// capped keeps the first and the last lines, more of the last: there is what it came to.
func capped(lines []string, most int) []string {
	if most <= 0 || len(lines) <= most+1 { // the note is a line, too
		return lines
	}
	head := most * 2 / 5
	tail := most - head
	kept := append([]string{}, lines[:head]...)
	kept = append(kept, fmt.Sprintf(textCut, len(lines)-most))
	return append(kept, lines[len(lines)-tail:]...)
}
