package artifact

import "context"

// PageOptions bound a page; 0 means no bound, except for Bytes.
type PageOptions struct {
	Limit    int // lines
	LineMax  int // characters shown of a line
	Bytes    int // of all texts and their newlines; 0: DefaultPageBytes
	Overhead int // bytes that the caller adds to each line; they count too
}

// DefaultPageBytes bounds a page unless PageOptions do.
const DefaultPageBytes = 250 << 10

// Page holds consecutive lines of a file.
type Page struct {
	Lines []Line
	More  bool    // lines follow
	Next  int64   // number of the line after the page, existing or not
	Full  bool    // Bytes are used up before Limit
	Cut   []int64 // numbers of the lines shown in part
	Past  bool    // the file does not have the requested line
	Total int64   // lines of the file; -1: not known yet
}

// Page returns lines from number offset on, counted from 0. A page that does not start
// past the end has at least one line, or a part of a line that is too long.
func (r *Reader) Page(ctx context.Context, offset int64, o PageOptions) (Page, error) {
	offset = max(0, offset)
	if o.Bytes <= 0 {
		o.Bytes = DefaultPageBytes
	}
	off, n, found, err := r.seek(ctx, offset)
	if err != nil {
		return Page{}, err
	}
	if !found {
		return Page{Next: n, Past: offset > 0, Total: n}, nil
	}
	b := pager{c: newCursor(ctx, r.r, off, r.size), o: o, page: Page{Next: offset, More: true, Total: -1}}
	for b.page.More && (o.Limit <= 0 || len(b.page.Lines) < o.Limit) {
		if err := b.line(r.o.LastEmpty); err != nil {
			return Page{}, err
		}
		if b.page.Full {
			break
		}
	}
	if !b.page.More {
		b.page.Full, b.page.Total = false, b.page.Next
		return b.page, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines.Seen() == r.size {
		b.page.Total = r.total()
	}
	return b.page, nil
}

// pager fills a page.
type pager struct {
	c    *cursor
	o    PageOptions
	page Page
	used int
}

// line adds the next line. If it does not fit, the page is full.
func (b *pager) line(lastEmpty bool) error {
	room := b.o.Bytes - b.used - b.o.Overhead - 1
	l, fits, k, err := readLine(b.c, b.o.LineMax, max(0, room))
	if err != nil {
		return err
	}
	if (!fits || room < 0) && len(b.page.Lines) > 0 {
		b.page.Full = true
		return nil
	}
	ended, err := k.leave()
	if err != nil {
		return err
	}
	l.Number = b.page.Next
	if l.Cut {
		b.page.Cut = append(b.page.Cut, l.Number)
	}
	b.page.Lines = append(b.page.Lines, l)
	b.page.Next++
	b.used += len(l.Text) + b.o.Overhead + 1
	b.page.More = !b.c.atEnd() || lastEmpty && ended
	b.page.Full = !fits
	return nil
}

// readLine reads the beginning of a line: at most maxChars characters (0: all) and room
// bytes of text. fits is false if the bytes did not suffice. k is at the end of the
// text read.
func readLine(c *cursor, maxChars, room int) (l Line, fits bool, k *clusters, err error) {
	k = newClusters(c)
	var out []byte
	for maxChars <= 0 || k.count < int64(maxChars) {
		ok, err := k.more()
		if err != nil {
			return Line{}, false, nil, err
		}
		if !ok {
			return Line{Text: string(out)}, true, k, nil
		}
		was, n := len(out), clusterLen(k.p)
		if out = appendText(out, k.p[:n]); len(out) > room {
			if was == 0 { // not even one character fits: a part of it
				return Line{Text: first(string(out), room), Cut: true}, false, k, nil
			}
			return Line{Text: string(out[:was]), Cut: true}, false, k, nil
		}
		k.take(n, 1)
	}
	over, err := k.over()
	return Line{Text: string(out), Cut: !over}, true, k, err
}
