package artifact

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"troupe/spill/view"
)

// Bounds of a page of a search.
const (
	// MaxShownLine bounds the bytes shown of a line. It is less than a chunk, so that a
	// line is shown from one buffer.
	MaxShownLine = 32 << 10
	minShownLine = 256
	// maxHits bounds the hits that a page holds in memory.
	maxHits = 16 << 10
)

// Place is where a search goes on: at the beginning of a line.
type Place struct {
	Offset int64
	Line   int64 // its number, from 1; 0: not known
	After  int64 // context lines of the match before it that are not shown yet
	Shown  int64 // offset after the line shown last; 0: none
}

// SearchOptions bound a page of a search.
type SearchOptions struct {
	Context int                    // lines shown around each match, at most MaxContext
	Bytes   int                    // of the text
	Until   time.Time              // when the page ends, also without a match
	Plain   bool                   // without terminal control sequences
	Label   func(off int64) []byte // text before the line at an offset; nil: none
}

// SearchPage is a page of a search, in the form of grep -n: "7:" before a matching line,
// "7-" before one of its context, "--" between lines that are not adjacent. A line
// without a known number has "?".
type SearchPage struct {
	Text    []byte
	Matches int
	Next    Place
	Done    bool // the file is searched to its end
}

// Search finds the lines from a place on that match a regular expression (RE2), each line
// by itself. The pages of a search show all of them: Next is the place of the next page.
// Memory is bounded for any length of line.
func (r *Reader) Search(ctx context.Context, what string, from Place, o SearchOptions) (SearchPage, error) {
	p, err := newPattern(what, true)
	if err != nil {
		return SearchPage{}, err
	}
	o.Context = min(max(0, o.Context), MaxContext)
	s := &search{
		ctx: ctx, r: r, p: p, c: newCursor(ctx, r.r, from.Offset, r.size), number: max(0, from.Line-1),
		before: o.Context, max: min(maxHits, o.Bytes/4) + 1, until: o.Until,
	}
	s.c.chunk = searchChunk
	first := s.number
	if err := s.run(); err != nil {
		return SearchPage{}, err
	}
	w := &pageWriter{o: o, hits: s.hits, end: s.c.off, next: first, last: first + from.After - 1, shown: from.Shown, numbered: from.Line > 0}
	if len(s.hits) == s.max { // the last hit only says how far the lines are known
		w.hits, w.end = s.hits[:s.max-1], s.hits[s.max-1].at
	}
	w.c = newCursor(ctx, r.r, from.Offset, w.end)
	full, err := w.write()
	page := SearchPage{Text: w.text, Matches: w.matches, Next: w.place(), Done: !full && w.end == r.size}
	if !full && !page.Done {
		page.Next = s.resume(from, page.Next)
	}
	return page, err
}

// resume returns the place for the next page after all hits were shown: so far back that
// it has the context before its first match. It never goes back over more than half of
// what was searched, so that a search comes to an end.
func (s *search) resume(from, shown Place) Place {
	at, number := s.c.off, s.number
	if len(s.starts) > 0 {
		at, number = s.starts[0], s.number-int64(len(s.starts))
	}
	end, last := s.c.off, s.number
	if len(s.hits) == s.max {
		h := s.hits[s.max-1]
		at, number, end, last = h.aroundAt, h.around, h.at, h.number
	}
	if at-from.Offset < (end-from.Offset)/2 {
		at, number = end, last
	}
	if at <= shown.Offset {
		return shown
	}
	next := Place{Offset: at, Shown: shown.Shown}
	if from.Line > 0 {
		next.Line = number + 1
	}
	return next
}

// pageWriter writes the lines of a page.
type pageWriter struct {
	o        SearchOptions
	c        *cursor // at the next line
	hits     []hit   // not shown yet
	end      int64   // lines before this offset are searched
	next     int64   // number of the next line, from 0
	last     int64   // number of the last line of the context after the last match
	shown    int64   // as Place.Shown
	numbered bool

	text    []byte
	matches int
}

// write shows all hits and their context, and reports whether the page became full before.
func (w *pageWriter) write() (full bool, err error) {
	for len(w.hits) > 0 {
		h := w.hits[0]
		if full, err := w.show(min(w.last, h.around-1)); full || err != nil {
			return full, err
		}
		if h.around > w.next {
			w.next = h.around
			w.c.jump(h.aroundAt)
		}
		if full, err := w.show(h.number); full || err != nil {
			return full, err
		}
		w.last, w.hits = h.number+int64(w.o.Context), w.hits[1:]
	}
	return w.show(w.last)
}

// show shows lines up to a number, or to the end of what is searched.
func (w *pageWriter) show(to int64) (full bool, err error) {
	for w.next <= to && !w.c.atEnd() {
		if full, err := w.line(); full || err != nil {
			return full, err
		}
	}
	return false, nil
}

// place returns where the next page begins if this one ends here.
func (w *pageWriter) place() Place {
	p := Place{Offset: w.c.off, After: max(0, w.last-w.next+1), Shown: w.shown}
	if w.numbered {
		p.Line = w.next + 1
	}
	return p
}

// line shows the next line, unless the page is full. The first line of a page always fits.
func (w *pageWriter) line() (full bool, err error) {
	most := max(minShownLine, min(MaxShownLine, w.o.Bytes/4))
	p, _, err := w.c.window(most + 2)
	if err != nil {
		return false, err
	}
	match := len(w.hits) > 0 && w.hits[0].number == w.next
	length := bytes.IndexByte(p, '\n')
	ended := length >= 0
	if !ended {
		length = len(p)
	}
	begin := len(w.text)
	if w.o.Context > 0 && w.shown > 0 && w.shown != w.c.off {
		w.text = append(w.text, "--\n"...)
	}
	w.number(match)
	switch {
	case length <= most:
		w.content(bytes.TrimSuffix(p[:length], []byte{'\r'}))
	case match:
		err = w.part(w.c.off, w.hits[0].found, most)
	default:
		err = w.part(w.c.off, w.c.off, most)
	}
	w.text = append(w.text, '\n')
	if err != nil || len(w.text) > w.o.Bytes && begin > 0 {
		w.text = w.text[:begin]
		return err == nil, err
	}
	if ended {
		w.c.advance(length + 1)
	} else if _, err := w.c.skipLine(); err != nil {
		return false, err
	}
	w.next++
	w.shown = w.c.off
	if match {
		w.matches++
	}
	return false, nil
}

// number writes what stands before a line.
func (w *pageWriter) number(match bool) {
	if w.numbered {
		w.text = strconv.AppendInt(w.text, w.next+1, 10)
	} else {
		w.text = append(w.text, '?')
	}
	if match {
		w.text = append(w.text, ':')
	} else {
		w.text = append(w.text, '-')
	}
	if w.o.Label != nil {
		w.text = append(w.text, w.o.Label(w.c.off)...)
	}
}

// content writes the text of a line. A CR that would begin a line on a terminal is spelled
// out.
func (w *pageWriter) content(p []byte) {
	if !w.o.Plain {
		w.text = append(w.text, p...)
		return
	}
	var c view.Cleaner
	clean := c.End(c.Append(nil, p))
	w.text = append(w.text, bytes.ReplaceAll(clean, newline, []byte(`\r`))...)
}

// part writes at most most bytes of a longer line that begins at an offset: around found.
func (w *pageWriter) part(from, found int64, most int) error {
	at := from
	if found-from > int64(most/2) {
		at = found - int64(most/4)
	}
	to, err := nextLine(w.c.r, max(at, from), w.end)
	if err != nil {
		return err
	}
	p, err := readRange(w.c.r, at, min(to, at+int64(most)))
	if err != nil {
		return err
	}
	head := alignFrom(p, 0)
	if at == from {
		head = 0
	}
	p = bytes.TrimRight(p[head:wholeTo(p)], "\r\n")
	at += int64(head)
	if left := at - from; left > 0 {
		w.text = append(w.text, "[... "+Thousands(left)+" bytes] "...)
	}
	w.content(p)
	if left := to - at - int64(len(p)); left > 2 {
		w.text = append(w.text, " [... "+Thousands(left)+" bytes]"...)
	}
	return nil
}
