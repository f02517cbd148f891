package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"troupe/messages"
)

// scanner checks a JSON text for faults that the decoder of the standard library
// accepts: deep nesting, keys in another case, duplicate keys, halves of surrogate
// pairs, null elements of a list or a map. It does not report invalid JSON.
type scanner struct {
	in    []byte
	at    int
	stack []container
}

// container is an open object or list.
type container struct {
	object bool
	free   bool // keys are data, not names of fields
	key    bool // a key comes next
	last   string
	seen   map[string]bool
}

// dataKeys reports whether a field's value is an object with keys of the caller.
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

// null refuses null as an element, which would decode as an empty one. A null field is
// the same as an absent one.
func (s *scanner) null() *messages.Error {
	inner := len(s.stack) - 1
	if inner < 1 || !bytes.HasPrefix(s.in[s.at:], []byte("ull")) {
		return nil
	}
	in, of := s.stack[inner], s.stack[inner-1]
	switch {
	case !of.object: // requests have no lists of lists
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

// text skips a string after its opening quote.
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

// escape skips one escape, or both halves of a surrogate pair.
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

// unit returns the \uXXXX at an offset.
func (s *scanner) unit(at int) (uint64, bool) {
	if at+6 > len(s.in) || s.in[at] != '\\' || s.in[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(s.in[at+2:at+6]), 16, 16)
	return unit, err == nil
}

// name handles a key.
func (c *container) name(key []byte) *messages.Error {
	if !c.free && bytes.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		return unknown(string(key))
	}
	c.last = string(key)
	if c.seen[c.last] {
		return named(c.last, fmt.Sprintf("%.64q is given twice", c.last))
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[c.last] = true
	return nil
}
