package artifact

import (
	"bytes"
	"context"
	"time"
)

// searchChunk is the chunk of a search, in bytes: it fits into a core's cache, and system
// calls cost little of the time.
const searchChunk = 256 << 10

// hit is a matching line.
type hit struct {
	number int64
	at     int64 // file offset of the line
	found  int64 // file offset of the match

	around int64 // number of the first context line before it
	// aroundAt is the file offset of that line.
	aroundAt int64
}

// search finds matching lines, one chunk at a time.
type search struct {
	ctx    context.Context
	r      *Reader
	p      pattern
	c      *cursor
	before int       // context lines before a match
	max    int       // hits
	until  time.Time // when the search pauses; zero: never

	ahead  candidates
	lower  []byte  // the block in lower case
	number int64   // of the line at the cursor
	starts []int64 // offsets of up to before lines ahead of the cursor
	hits   []hit
}

func (s *search) run() error {
	for !s.c.atEnd() && len(s.hits) < s.max {
		p, last, err := s.c.window(s.c.chunk)
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
		if !s.until.IsZero() && !time.Now().Before(s.until) {
			return nil
		}
	}
	if s.c.atEnd() && s.r.o.LastEmpty && s.endsInNewline() && len(s.hits) < s.max {
		s.look(nil, nil, 0)
	}
	return nil
}

// endsInNewline reports whether the file is empty or ends with a newline.
func (s *search) endsInNewline() bool {
	if s.r.size == 0 {
		return true
	}
	p, err := readRange(s.r.r, s.r.size-1, s.r.size)
	return err == nil && p[0] == '\n'
}

// lines searches whole lines and moves past them.
func (s *search) lines(block []byte) {
	first, at := s.number, 0
	s.lower = s.ahead.begin(s.p.ahead, block, s.lower)
	for at < len(block) && len(s.hits) < s.max {
		if len(s.p.ahead.texts) > 0 { // skip to the line that may match
			i := s.ahead.from(at)
			if i < 0 {
				break
			}
			from := bytes.LastIndexByte(block[:i], '\n') + 1
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

// look searches one line, at distance at from the cursor. others are the lines between.
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

// hit records a matching line.
func (s *search) hit(others []byte, at, found int64) {
	starts := append([]int64(nil), s.starts...)
	starts = append(starts, s.startsIn(others)...)
	starts = append(starts[max(0, len(starts)-s.before):], at)
	s.hits = append(s.hits, hit{
		number: s.number, at: at, found: found,
		around: s.number - int64(len(starts)) + 1, aroundAt: starts[0],
	})
}

// startsIn returns the offsets of the last lines of p, which begins at the cursor.
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

// remember keeps the offsets of the last lines after p was searched.
func (s *search) remember(p []byte) {
	s.starts = append(s.starts, s.startsIn(p)...)
	s.starts = s.starts[max(0, len(s.starts)-s.before):]
}

// long searches a line that is longer than a chunk, and moves past it.
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
