package urls

import "strings"

// announceHeredoc reads << and the word that ends a here-document, or skips other
// operators with <.
func (s *scanner) announceHeredoc() {
	if !s.follows("<") || s.follows("<<") || s.top() == arith {
		for s.pos < len(s.text) && s.text[s.pos] == '<' {
			s.pos++
		}
		return
	}
	s.pos += 2
	var doc document
	if s.pos < len(s.text) && s.text[s.pos] == '-' {
		doc.tabs = true
		s.pos++
	}
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
	doc.word, doc.quoted = s.word()
	if doc.word != "" && len(s.docs) < maxOpen {
		s.docs = append(s.docs, doc)
	}
}

// word reads a word without its quotes.
func (s *scanner) word() (string, bool) {
	var word strings.Builder
	quoted := false
	for ; s.pos < len(s.text) && strings.IndexByte(" \t\n;&|<>()", s.text[s.pos]) < 0; s.pos++ {
		switch s.text[s.pos] {
		case '\'', '"', '\\':
			quoted = true
		default:
			word.WriteByte(s.text[s.pos])
		}
	}
	return word.String(), quoted
}

// beginHeredoc opens the next announced document at the start of a line.
func (s *scanner) beginHeredoc() {
	if len(s.docs) == 0 {
		return
	}
	if s.docs[0].quoted {
		s.push(literal)
	} else {
		s.push(heredoc)
	}
}

// line skips one line of a document, or its part before place.
func (s *scanner) line(place int) {
	if s.eol <= s.pos { // once per line, which may have many tokens
		s.eol = len(s.text)
		if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
			s.eol = s.pos + i + 1
		}
	}
	if s.pos == 0 || s.text[s.pos-1] == '\n' {
		doc, text := s.docs[0], strings.TrimSuffix(s.text[s.pos:s.eol], "\n")
		if doc.tabs {
			text = strings.TrimLeft(text, "\t")
		}
		if text == doc.word {
			s.pop()
			s.docs = s.docs[1:]
			s.pos = s.eol
			s.beginHeredoc()
			return
		}
	}
	s.pos = min(s.eol, max(place, s.pos+1))
}

// quote writes a path so that the shell reads it literally in the token's place.
func quote(t token, path string) string {
	if t.quoted || t.around == plain {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	switch t.around {
	case single:
		return strings.ReplaceAll(path, "'", `'\''`)
	case double:
		return escape(path, "\\\"$`")
	case ansi:
		return escape(path, `\'`)
	case heredoc:
		return escape(path, "\\$`")
	}
	return path
}

// escape puts a backslash before each of the bytes.
func escape(s, bytes string) string {
	var out strings.Builder
	for i := range len(s) {
		if strings.IndexByte(bytes, s[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
