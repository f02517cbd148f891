package artifact

// maxSixel bounds a picture that is kept, in bytes. It equals the cleaner's bound for
// an escape sequence.
const maxSixel = 1 << 20

// sixels finds pictures in a stream of bytes: ESC P, numbers, q, data, ESC \.
type sixels struct {
	pending []byte // bytes that may begin a picture
	state   sixelState
}

type sixelState uint8

const (
	outside  sixelState = iota
	escaped             // after ESC
	numbers             // after ESC P
	data                // after q
	finished            // after an ESC in the data
)

// split passes each complete picture of p to picture, and all else to text.
func (s *sixels) split(p []byte, text, picture func([]byte)) {
	from := 0 // first byte that was neither passed on nor kept
	for i := 0; i < len(p); i++ {
		b := p[i]
		if s.state == outside {
			if b == 0x1b {
				text(p[from:i])
				s.state, s.pending = escaped, append(s.pending[:0], b)
			}
			continue
		}
		if s.state == finished && b == '\\' {
			picture(append(s.pending, b))
			s.state, s.pending = outside, s.pending[:0]
			from = i + 1
			continue
		}
		if next := s.next(b); next != outside {
			s.state, s.pending = next, append(s.pending, b)
			continue
		}
		text(s.pending) // not a picture
		s.state, s.pending = outside, s.pending[:0]
		from = i
		i-- // b may begin one
	}
	if s.state == outside {
		text(p[from:])
	}
}

// next returns the state after b, or outside if b rules out a picture.
func (s *sixels) next(b byte) sixelState {
	switch {
	case len(s.pending) >= maxSixel:
	case s.state == escaped && b == 'P':
		return numbers
	case s.state == numbers && (b >= '0' && b <= '9' || b == ';'):
		return numbers
	case s.state == numbers && b == 'q':
		return data
	case s.state == data && (b >= 0x20 && b < 0x7f || b == '\n' || b == '\r'):
		return data
	case s.state == data && b == 0x1b:
		return finished
	}
	return outside
}

// end passes on the bytes kept.
func (s *sixels) end(text func([]byte)) {
	text(s.pending)
	s.state, s.pending = outside, s.pending[:0]
}
