package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"troupe/messages"
)

// scanner looks at a JSON text for what the decoder of the standard library lets
// pass: nesting without bound, keys in another case, keys that are there twice,
// halves of surrogate pairs, null for an element of a list or a map. Of what is no
// JSON at all it says nothing.
type scanner struct {
	in    []byte
	at    int
	stack []container
}

// container is an object or a list that is open.
type container struct {
	object bool
	free   bool // its keys are data, not names of fields
	key    bool // a key comes next
	last   string
	seen   map[string]bool
}

// dataKeys are the fields whose value is an object with keys of the caller's.
func dataKeys(field string) bool { return field == "env" }

func (s *scanner) scan() *messages.Error {
	for s.at < len(s.in) {
		c := s.in[s.at]
		s.at++
		var err *messages.Error
		switch c {
		case '{', '[':
			err = s.push(c == '{')
		case '}', ']':
			if len(s.stack) > 0 {
				s.stack = s.stack[:len(s.stack)-1]
			}
		case ',':
			if top := s.top(); top != nil {
				top.key = top.object
			}
		case '"':
			err = s.text()
		case 'n':
			err = s.null()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) top() *container {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

// null refuses the null of an element, which would be read as an empty one. That of a
// field is the field left out.
func (s *scanner) null() *messages.Error {
	inner := len(s.stack) - 1
	if inner < 1 || !bytes.HasPrefix(s.in[s.at:], []byte("ull")) {
		return nil
	}
	in, of := s.stack[inner], s.stack[inner-1]
	switch {
	case !of.object: // no request has lists of lists
		return nil
	case in.free:
		return named(of.last, fmt.Sprintf("%.64q of %.64s is null; give a value, or leave it out", in.last, of.last))
	case in.object:
		return nil
	}
	return named(of.last, fmt.Sprintf("an element of %.64s is null; give a value, or leave it out", of.last))
}

func (s *scanner) push(object bool) *messages.Error {
	if len(s.stack) == MaxDepth {
		return messages.Invalid("too_deep", fmt.Sprintf("the body is nested deeper than %d", MaxDepth))
	}
	next := container{object: object, key: object}
	if top := s.top(); top != nil {
		next.free = object && top.object && dataKeys(top.last)
	}
	s.stack = append(s.stack, next)
	return nil
}

// text goes over a string, whose opening quote is behind us.
func (s *scanner) text() *messages.Error {
	from := s.at
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case '"':
			name := s.in[from:s.at]
			s.at++
			if top := s.top(); top != nil && top.key {
				top.key = false
				return top.name(name)
			}
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			s.at++
		}
	}
	return nil
}

// escape goes over one escape; the halves of a surrogate pair come together.
func (s *scanner) escape() *messages.Error {
	unit, ok := s.unit(s.at)
	if !ok {
		s.at += 2
		return nil
	}
	s.at += 6
	if unit < 0xd800 || unit > 0xdfff {
		return nil
	}
	low, ok := s.unit(s.at)
	if unit >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
		return messages.Invalid("utf8", fmt.Sprintf(`\u%04x is half a character; send bytes in base64`, unit))
	}
	s.at += 6
	return nil
}

// unit is the \uXXXX at a place.
func (s *scanner) unit(at int) (uint64, bool) {
	if at+6 > len(s.in) || s.in[at] != '\\' || s.in[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(s.in[at+2:at+6]), 16, 16)
	return unit, err == nil
}

// name takes a key.
func (c *container) name(key []byte) *messages.Error {
	if !c.free && bytes.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		return unknown(string(key))
	}
	c.last = string(key)
	if c.seen[c.last] {
		return named(c.last, fmt.Sprintf("%.64q is there twice", c.last))
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[c.last] = true
	return nil
}
