package artifact

import "context"

// PageOptions bound a page; a field that is 0 is no bound, but for Bytes.
type PageOptions struct {
	Limit    int // lines
	LineMax  int // characters of a line that are shown
	Bytes    int // of all texts and their newlines; 0: 250 KiB
	Overhead int // bytes that the caller puts around each line, which count, too
}

// DefaultPageBytes is how much of a file is shown at once.
const DefaultPageBytes = 250 << 10

// Page is some lines of a file, one behind the other.
type Page struct {
	Lines []Line
	More  bool    // lines follow
	Next  int64   // the first that follows, or would
	Full  bool    // more lines were asked for, but Bytes are used up
	Cut   []int64 // the numbers of the lines that are shown in part
	Past  bool    // the file has no line of the number that was asked for
	Total int64   // lines of the file; -1: not known yet
}

// Page shows lines from number offset on, from 0. A page that is not past the end has
// a line at least, and if that is too long alone, a part of it.
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

// line adds the next line, unless it has no room: then the page is full.
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

// readLine reads the beginning of a line: at most maxChars characters (0: all), at most
// room bytes of text. fits is false if it was cut for the bytes. k is where it stopped.
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
			if was == 0 { // not even one character: a part of it
				return Line{Text: first(string(out), room), Cut: true}, false, k, nil
			}
			return Line{Text: string(out[:was]), Cut: true}, false, k, nil
		}
		k.take(n, 1)
	}
	over, err := k.over()
	return Line{Text: string(out), Cut: !over}, true, k, err
}
