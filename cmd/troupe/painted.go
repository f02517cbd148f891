package main

import (
	"bytes"
	"slices"
	"strings"
)

// painted knows which screen of a terminal is shown: where a program leaves it without
// going back, the cursor of the first screen is where it was only for who asks for both.
type painted struct {
	alt  bool
	held []byte // a sequence whose end has not come
}

// maxMode is the longest sequence that is held.
const maxMode = 64

// saw looks for DECSET and DECRST in what the terminal is shown.
func (p *painted) saw(b []byte) {
	const begin = "\x1b[?"
	if len(p.held) > 0 {
		b = append(p.held, b...)
		p.held = nil
	}
	for {
		i := bytes.IndexByte(b, begin[0])
		if i < 0 {
			return
		}
		b = b[i:]
		if len(b) < len(begin) && strings.HasPrefix(begin, string(b)) {
			p.held = slices.Clone(b)
			return
		}
		if !bytes.HasPrefix(b, []byte(begin)) {
			b = b[1:]
			continue
		}
		n := bytes.IndexFunc(b[len(begin):], func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if n < 0 {
			if len(b) <= maxMode {
				p.held = slices.Clone(b)
			}
			return
		}
		modes, final := string(b[len(begin):len(begin)+n]), b[len(begin)+n]
		if final == 'h' || final == 'l' {
			p.set(strings.Split(modes, ";"), final == 'h')
		}
		b = b[len(begin)+n:]
	}
}

func (p *painted) set(modes []string, on bool) {
	for _, alt := range []string{"47", "1047", "1049"} {
		if slices.Contains(modes, alt) {
			p.alt = on
		}
	}
}

// unpaint leaves our terminal as it was, where who paints it goes on, or has gone without
// doing so. Behind it a line begins.
func (s *screen) unpaint() {
	if !s.out.terminal {
		return
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.wipe()
	text := unpainted
	if s.painted.alt {
		text = strings.Replace(text, leavesAlt, leavesSaved, 1)
	} else {
		text = strings.Replace(text, leavesAlt, "", 1)
		if s.out.ours && s.setOpen(false) {
			text += "\r\n"
		}
	}
	s.painted = painted{}
	s.setOpen(false)
	_, _ = s.out.file.WriteString(text)
}
