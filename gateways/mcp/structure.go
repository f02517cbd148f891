package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
)

// structure is the structure of a result as the SDK writes it, which makes a map of it:
// the keys of every object are in order.
func structure(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(b, []byte(`\ufffd`)) { // no UTF-8 once, and the character itself behind a map
		var m any
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, err
		}
		return json.Marshal(m)
	}
	return inOrder(make([]byte, 0, len(b)), b), nil
}

// member is one of an object, both as they are written.
type member struct{ key, value []byte }

// inOrder appends a value, which json.Marshal has written, with its keys in order.
func inOrder(to, b []byte) []byte {
	switch b[0] {
	case '{':
		var all []member
		for b = b[1:]; b[0] != '}'; {
			if b[0] == ',' {
				b = b[1:]
			}
			var m member
			m.key, b = cut(b, ending(b))
			m.value, b = cut(b[1:], ending(b[1:]))
			all = append(all, m)
		}
		slices.SortFunc(all, func(x, y member) int { return bytes.Compare(x.key, y.key) })
		for i, m := range all {
			to = append(to, "{,"[min(i, 1)])
			to = append(append(to, m.key...), ':')
			to = inOrder(to, m.value)
		}
		if len(all) == 0 {
			to = append(to, '{')
		}
		return append(to, '}')
	case '[':
		to = append(to, '[')
		for b = b[1:]; b[0] != ']'; {
			if b[0] == ',' {
				to, b = append(to, ','), b[1:]
			}
			var v []byte
			v, b = cut(b, ending(b))
			to = inOrder(to, v)
		}
		return append(to, ']')
	}
	return append(to, b...)
}

func cut(b []byte, at int) (before, after []byte) { return b[:at], b[at:] }

// ending is where the value ends with which a text begins.
func ending(b []byte) int {
	depth := 0
	for at := 0; ; {
		switch b[at] {
		case '"':
			at += quoted(b[at:])
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			at++
			if depth == 0 && at < len(b) && bytes.IndexByte([]byte(",]}"), b[at]) < 0 {
				continue // within a number, or a word
			}
		}
		if depth == 0 {
			return at
		}
	}
}

// quoted is the length of the string with which a text begins.
func quoted(b []byte) int {
	for at := 1; ; at++ {
		at += bytes.IndexByte(b[at:], '"')
		escapes := 0
		for b[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}
