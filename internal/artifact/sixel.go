package artifact

// maxSixel is the largest picture that is left in: as large as what the cleaner lets
// an escape sequence be.
const maxSixel = 1 << 20

// sixels finds pictures in a stream of bytes: ESC P, numbers, q, data, ESC \.
type sixels struct {
	pending []byte // the beginning of what may be one
	state   sixelState
}

type sixelState uint8

const (
	outside  sixelState = iota
	escaped             // behind ESC
	numbers             // behind ESC P
	data                // behind q
	finished            // behind an ESC in the data
)

// split gives each picture of p to picture, once it is whole, and all else to text.
func (s *sixels) split(p []byte, text, picture func([]byte)) {
	from := 0 // of what was not given yet and is not held
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
		text(s.pending) // it is none
		s.state, s.pending = outside, s.pending[:0]
		from = i
		i-- // which may begin one
	}
	if s.state == outside {
		text(p[from:])
	}
}

// next is the state behind one byte more, outside if that makes it no picture.
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

// end gives what was held back.
func (s *sixels) end(text func([]byte)) {
	text(s.pending)
	s.state, s.pending = outside, s.pending[:0]
}
