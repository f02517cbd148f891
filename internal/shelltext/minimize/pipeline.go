package minimize

import (
	"fmt"
	"regexp"
	"strings"

	"troupe/internal/shelltext"
)

// pipeline is a filter that is ready to run.
type pipeline struct {
	strip   *regexp.Regexp // nil: nothing
	replace []replacing
	max     int
	empty   string

	patterns []string
	bounded  bool // it is a user's: nobody knows what it costs
}

// maxWork bounds what a user's pipeline costs, in bytes of an output times instructions of
// its patterns: some seconds at worst, and much less of any that looks for noise.
const maxWork = 1_000_000_000

// tooMuch says that a text is longer than a pipeline may look at.
func (p *pipeline) tooMuch(text string) bool {
	if !p.bounded {
		return false
	}
	work := 1
	for _, pattern := range p.patterns {
		work += shelltext.Instructions(pattern)
	}
	return len(text) > maxWork/work
}

type replacing struct {
	pattern *regexp.Regexp
	with    string
}

func (f filter) compile() *pipeline {
	p := &pipeline{max: f.MaxLines, empty: f.OnEmpty}
	if len(f.Strip) > 0 {
		p.patterns = append(p.patterns, anyOf(f.Strip))
		p.strip = regexp.MustCompile(anyOf(f.Strip))
	}
	for _, r := range f.Replace {
		p.patterns = append(p.patterns, r.Pattern)
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
// left it says what the filter says of that. A text that becomes longer, or that would take too
// long, comes back as it is.
func (p *pipeline) apply(text string, exit int) string {
	if p.tooMuch(text) {
		return text
	}
	lines, end := split(text)
	kept := make([]string, 0, len(lines))
	blank, size := true, 0
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
			if size += len(becomes) + 1; size > maxGrowth*len(text)+maxLine {
				return text
			}
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

// maxGrowth is how many times as long as the text its lines may become before some are left out.
const maxGrowth = 2

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
		if bare = r.pattern.ReplaceAllString(bare, r.with); len(bare) > maxGrowth*maxLine {
			return line, true // one after the other, replacements could double it each time
		}
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
