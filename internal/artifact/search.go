package artifact

import (
	"bytes"
	"context"
)

// hit is a line that matches.
type hit struct {
	number int64
	at     int64 // where it begins
	found  int64 // where in the file the match begins

	around   int64 // the first of the lines before it that are to be shown
	aroundAt int64
}

// search finds lines, a chunk at a time.
type search struct {
	ctx    context.Context
	r      *Reader
	p      pattern
	c      *cursor
	before int // lines that are shown before a match
	max    int // hits

	number int64   // of the line at the cursor
	starts []int64 // where the lines before the cursor begin, as many as are shown
	hits   []hit
}

func (s *search) run() error {
	for !s.c.atEnd() && len(s.hits) < s.max {
		p, last, err := s.c.window(chunk)
		if err != nil {
			return err
		}
		block := p
		if !last {
			block = p[:bytes.LastIndexByte(p, '\n')+1]
		}
		if len(block) == 0 {
			err = s.long()
		} else {
			s.lines(block)
		}
		if err != nil {
			return err
		}
	}
	if s.c.atEnd() && s.r.o.LastEmpty && s.endsInNewline() && len(s.hits) < s.max {
		s.look(nil, nil, 0)
	}
	return nil
}

// endsInNewline says whether the file ends with a newline, or is empty.
func (s *search) endsInNewline() bool {
	if s.r.size == 0 {
		return true
	}
	p, err := readRange(s.r.r, s.r.size-1, s.r.size)
	return err == nil && p[0] == '\n'
}

// lines looks at whole lines, and goes behind them.
func (s *search) lines(block []byte) {
	first, at := s.number, 0
	for at < len(block) && len(s.hits) < s.max {
		if s.p.literal != nil { // go to the line that may have it
			i := bytes.Index(block[at:], s.p.literal)
			if i < 0 {
				break
			}
			from := bytes.LastIndexByte(block[:at+i], '\n') + 1
			if from > at {
				s.number += int64(bytes.Count(block[at:from], newline))
				at = from
			}
		}
		next := len(block)
		if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		s.look(block[:at], block[at:next], at)
		s.number++
		at = next
	}
	s.number = first + int64(bytes.Count(block, newline))
	if block[len(block)-1] != '\n' {
		s.number++
	}
	s.remember(block)
	s.c.advance(len(block))
}

// look looks at one line, which stands at at from the cursor, behind some others.
func (s *search) look(others, line []byte, at int) {
	if n := len(line) - 1; n >= 0 && line[n] == '\n' {
		line = bytes.TrimSuffix(line[:n], []byte{'\r'})
	}
	found := s.p.find(line)
	if found < 0 {
		return
	}
	begin := s.c.off + int64(at)
	s.hit(others, begin, begin+int64(found))
}

// hit notes a line that matches.
func (s *search) hit(others []byte, at, found int64) {
	starts := append([]int64(nil), s.starts...)
	starts = append(starts, s.startsIn(others)...)
	starts = append(starts[max(0, len(starts)-s.before):], at)
	s.hits = append(s.hits, hit{
		number: s.number, at: at, found: found,
		around: s.number - int64(len(starts)) + 1, aroundAt: starts[0],
	})
}

// startsIn is where the last lines of p begin, which stands at the cursor.
func (s *search) startsIn(p []byte) []int64 {
	var back []int64
	for end := len(p); end > 0 && len(back) < s.before; {
		end = bytes.LastIndexByte(p[:end-1], '\n') + 1
		back = append(back, s.c.off+int64(end))
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// remember keeps where the last lines begin, now that p was looked at.
func (s *search) remember(p []byte) {
	s.starts = append(s.starts, s.startsIn(p)...)
	s.starts = s.starts[max(0, len(s.starts)-s.before):]
}

// long looks at a line that is longer than a chunk, and goes behind it.
func (s *search) long() error {
	from := s.c.off
	end := from
	err := eachChunk(s.ctx, s.r.r, from, s.r.size, func(p []byte) bool {
		i := bytes.IndexByte(p, '\n') + 1
		end += int64(i)
		if i == 0 {
			end += int64(len(p))
		}
		return i == 0
	})
	if err != nil {
		return err
	}
	tail, err := readRange(s.r.r, end-2, end)
	if err != nil {
		return err
	}
	to := end
	if tail[1] == '\n' {
		if to--; tail[0] == '\r' {
			to--
		}
	}
	found, err := s.p.findIn(s.ctx, s.r.r, from, to)
	if err != nil {
		return err
	}
	if found >= 0 {
		s.hit(nil, from, from+found)
	}
	s.starts = append(s.starts, from)
	s.starts = s.starts[max(0, len(s.starts)-s.before):]
	s.number++
	s.c.jump(end)
	return nil
}
