package minimize

import (
	"fmt"
	"regexp"
	"strings"

	"troupe/internal/shelltext"
)

// pipeline is a compiled filter.
type pipeline struct {
	strip   *regexp.Regexp // nil: none
	replace []replacing
	max     int
	empty   string

	patterns []string
	bounded  bool // a user's pipeline, of unknown cost
}

// maxWork bounds a user's pipeline: bytes of output times instructions of its patterns.
// That is some seconds at worst.
const maxWork = 1_000_000_000

// tooMuch reports whether a text is too long for a pipeline.
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

// anyOf joins patterns, so that each line is searched once.
func anyOf(patterns []string) string {
	var all []string
	for _, pattern := range patterns {
		all = append(all, "(?:"+pattern+")")
	}
	return strings.Join(all, "|")
}

// apply removes and rewrites lines, then caps their number. A success without any line
// left becomes the filter's on_empty. A text that would grow too much, or take too
// long, is returned unchanged.
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
		if i == 0 || line != last { // equal lines often follow each other
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

// maxGrowth bounds the rewritten lines, as a multiple of the text, before some are left
// out.
const maxGrowth = 2

// maxLine bounds a line that is examined, in bytes.
const maxLine = 2000

// line returns the rewritten line, and whether it stays.
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
			return line, true // replacements could double it each time
		}
	}
	return bare + line[len(strings.TrimSuffix(line, "\r")):], true
}

// capped keeps the first and the last lines, more of the last, which hold the result.
func capped(lines []string, most int) []string {
	if most <= 0 || len(lines) <= most+1 { // the note is a line too
		return lines
	}
	head := most * 2 / 5
	tail := most - head
	kept := append([]string{}, lines[:head]...)
	kept = append(kept, fmt.Sprintf(textCut, len(lines)-most))
	return append(kept, lines[len(lines)-tail:]...)
}
