package artifact

import (
	"bytes"
	"io"
)

// HeadTailOptions bound the two ends of a text that are shown.
type HeadTailOptions struct {
	Head, Tail int    // lines, at most
	Bytes      int    // of both ends together; 0: 51,200
	Marker     Marker // stands for the middle of a long line; nil: LeftOut
}

// HeadTail holds the beginning and the end of a text in whole lines with their
// newlines. A line that does not fit is cut in its middle. A last line without a
// newline counts as a line.
type HeadTail struct {
	Head, Tail           string
	HeadLines, TailLines int64
	Total                int64 // lines of the text
	Omitted              int64 // lines between the ends that are not shown at all
	Cut                  int64 // bytes left out of lines that are shown
}

// Whole reports whether nothing is left out: Head is the text.
func (e HeadTail) Whole() bool { return e.Omitted == 0 && e.Cut == 0 }

// ReadHeadTail returns the first and the last lines of the size bytes of r, which have
// total lines (see CountLines). If they are too many bytes, each end gets half of the
// bytes and what the other end leaves. An outermost line that is too
// long is cut in its middle, and so is a gap of one line. Memory is a few times
// o.Bytes for any size.
func ReadHeadTail(r io.ReaderAt, size, total int64, o HeadTailOptions) (HeadTail, error) {
	if o.Bytes <= 0 {
		o.Bytes = 51_200
	}
	if o.Marker == nil {
		o.Marker = LeftOut
	}
	head, err := readRange(r, 0, min(size, int64(o.Bytes)))
	if err != nil {
		return HeadTail{}, err
	}
	tail, err := readRange(r, max(0, size-int64(o.Bytes)), size)
	if err != nil {
		return HeadTail{}, err
	}
	p := ends{r: r, size: size, total: total, o: o, to: size}
	p.first = linesFrom(head, size == int64(len(head)))
	p.last = linesBack(tail, size == int64(len(tail)))
	p.choose()
	return p.show(head, tail)
}

// line is a line at one end of a text.
type line struct {
	// at is the distance of the line's inner boundary from that end, in bytes.
	at int
	// text is the length of the line as UTF-8, in bytes.
	text int
}

// linesFrom returns the lines at the beginning of p; all means that p is the whole
// text.
func linesFrom(p []byte, all bool) []line {
	var out []line
	for at := 0; at < len(p); {
		n := bytes.IndexByte(p[at:], '\n') + 1
		if n == 0 {
			if n = len(p) - at; !all {
				break
			}
		}
		out = append(out, line{at: at + n, text: textLen(p[at : at+n])})
		at += n
	}
	return out
}

// linesBack returns the lines at the end of p, the last one first.
func linesBack(p []byte, all bool) []line {
	var out []line
	for end := len(p); end > 0; {
		from := bytes.LastIndexByte(p[:end-1], '\n') + 1
		if from == 0 && !all {
			break
		}
		out = append(out, line{at: len(p) - from, text: textLen(p[from:end])})
		end = from
	}
	return out
}

// ends chooses lines at both ends, from the outside inwards.
type ends struct {
	r           io.ReaderAt
	size, total int64
	o           HeadTailOptions

	first, last        []line // lines to choose from
	h, t               int    // chosen lines
	headText, tailText int    // their bytes
	from, to           int64  // range between them
}

func (p *ends) choose() {
	half := p.o.Bytes / 2
	p.takeHead(half)
	if p.h == 0 && p.o.Head > 0 {
		p.takeTail(p.o.Bytes - half) // the other half is for a part of the first line
	} else {
		p.takeTail(p.o.Bytes - p.headText)
	}
	if p.t > 0 || p.o.Tail <= 0 {
		p.takeHead(p.o.Bytes - p.tailText)
	}
	if p.h > 0 || p.o.Head <= 0 {
		p.takeTail(p.o.Bytes - p.headText)
	}
}

// takeHead takes lines while their sum is at most n bytes.
func (p *ends) takeHead(n int) {
	for p.h < min(len(p.first), p.o.Head) {
		l := p.first[p.h]
		if p.headText+l.text > n || int64(l.at) > p.to {
			return
		}
		p.h, p.headText, p.from = p.h+1, p.headText+l.text, int64(l.at)
	}
}

func (p *ends) takeTail(n int) {
	for p.t < min(len(p.last), p.o.Tail) {
		l := p.last[p.t]
		if p.tailText+l.text > n || p.size-int64(l.at) < p.from {
			return
		}
		p.t, p.tailText, p.to = p.t+1, p.tailText+l.text, p.size-int64(l.at)
	}
}

// show builds the texts, with parts of lines that do not fit.
func (p *ends) show(head, tail []byte) (HeadTail, error) {
	e := HeadTail{
		Head: text(head[:p.from]), Tail: text(tail[int64(len(tail))-(p.size-p.to):]),
		HeadLines: int64(p.h), TailLines: int64(p.t), Total: p.total,
	}
	if p.from >= p.to {
		e.Head, e.HeadLines = e.Head+e.Tail, e.HeadLines+e.TailLines
		e.Tail, e.TailLines = "", 0
		return e, nil
	}
	e.Omitted = max(1, p.total-e.HeadLines-e.TailLines)
	if e.Omitted == 1 {
		return p.cutGap(e)
	}
	return p.cutOuter(e)
}

// cutGap shows a part of the one line between the ends.
func (p *ends) cutGap(e HeadTail) (HeadTail, error) {
	if p.h >= p.o.Head && p.t >= p.o.Tail {
		return e, nil
	}
	s, left, err := truncateLine(p.r, p.from, p.to, p.o.Bytes-p.headText-p.tailText, p.o.Marker)
	switch {
	case err != nil || s == "":
	case p.h < p.o.Head:
		e.Head, e.HeadLines, e.Omitted, e.Cut = e.Head+s, e.HeadLines+1, 0, left
	default:
		e.Tail, e.TailLines, e.Omitted, e.Cut = s+e.Tail, e.TailLines+1, 0, left
	}
	return e, err
}

// cutOuter shows parts of the first and last line where an end shows nothing.
func (p *ends) cutOuter(e HeadTail) (HeadTail, error) {
	noHead, noTail := p.h == 0 && p.o.Head > 0, p.t == 0 && p.o.Tail > 0
	room := p.o.Bytes - p.headText - p.tailText
	if noHead && noTail {
		room /= 2
	}
	if noHead {
		end, err := nextLine(p.r, 0, p.size)
		if err != nil {
			return HeadTail{}, err
		}
		s, left, err := truncateLine(p.r, 0, end, room, p.o.Marker)
		if err != nil {
			return HeadTail{}, err
		}
		if s != "" {
			e.Head, e.HeadLines, e.Omitted, e.Cut = s, 1, e.Omitted-1, e.Cut+left
		}
	}
	if noTail {
		begin, err := lastLine(p.r, p.size)
		if err != nil {
			return HeadTail{}, err
		}
		s, left, err := truncateLine(p.r, begin, p.size, room, p.o.Marker)
		if err != nil {
			return HeadTail{}, err
		}
		if s != "" {
			e.Tail, e.TailLines, e.Omitted, e.Cut = s, 1, e.Omitted-1, e.Cut+left
		}
	}
	return e, nil
}
