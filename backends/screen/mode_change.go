package screen

import (
	"bytes"
	"strconv"
)

func (c *ModeTracker) text([]byte)     {}
func (c *ModeTracker) char(rune, bool) {}
func (c *ModeTracker) title([]byte)    {}

// changeState sets or clears a state.
func (c *ModeTracker) changeState(state uint32, on bool) {
	c.now.states &^= state
	if on {
		c.now.states |= state
	}
	c.within.merge(c.now)
}

func (c *ModeTracker) control(b byte) {
	if b == 0x0e || b == 0x0f {
		c.changeState(shiftedOut, b == 0x0e)
	}
}

func (c *ModeTracker) escape(inter, final byte) {
	switch {
	case inter == 0 && final == 'c':
		c.now = ModeState{}
	case inter == 0 && (final == '=' || final == '>'):
		c.changeState(keypadKeys, final == '=')
	case inter == '(':
		c.changeState(otherCharset, final != 'B')
	}
}

// colour follows OSC 4, 10, 11 and 12, which set colours unless they query them. OSC
// 104 and 110 to 112 reset them.
func (c *ModeTracker) colour(osc int, what []byte) {
	set := map[int]uint32{4: palette, 10: foreground, 11: background, 12: cursorColour}
	switch {
	case osc > 100:
		c.changeState(set[osc-100], len(what) > 0 && c.now.states&set[osc-100] != 0) // some are left
	case !bytes.HasSuffix(what, []byte("?")):
		c.changeState(set[osc], true)
	}
}

func (c *ModeTracker) csi(s sequence) {
	switch {
	case s.inter == '!' && s.final == 'p' && s.prefix == 0:
		c.softReset()
	case s.inter == ' ' && s.final == 'q':
		c.changeState(cursorShape, s.param(0, 0) > 0)
	case s.inter != 0:
	case s.final == 'u' && s.prefix != 0:
		c.keyboard(s)
	case s.final == 'm' && s.prefix == '>':
		if which := s.param(0, 0); which == 0 || which == 4 {
			c.changeState(otherKeys, s.param(1, 0) > 0)
		}
	case s.final == 'm' && s.prefix == 0:
		c.now.sgr = styled(c.now.sgr, s.raw)
	case s.final == 'r' && s.prefix == 0:
		c.now.top, c.now.bottom = s.param(0, 0), s.param(1, 0)
	case s.final == 'h' || s.final == 'l':
		for _, mode := range s.params {
			c.changeMode(mode, s.prefix, s.final == 'h')
		}
	}
	c.within.merge(c.now)
}

// changeMode performs SM, RM, DECSET and DECRST.
func (c *ModeTracker) changeMode(mode int, prefix byte, on bool) {
	switch {
	case prefix == 0 && mode == insertMode:
		c.changeState(inserting, on)
	case prefix == 0 && mode == newlineMode:
		c.changeState(newlines, on)
	case prefix != '?':
	case mode == numericKeypad:
		c.changeState(keypadKeys, on)
	case mode == savedCursor:
		c.now.saved = on
	case mode == altScreen47 || mode == altScreen || mode == altScreenSaved:
		switch {
		case !on:
			c.now.alt, c.now.saved = 0, c.now.saved && mode != altScreenSaved
		case c.now.alt == 0:
			c.now.alt = mode
		}
	default:
		for i, m := range privates {
			if m.mode == mode {
				c.now.private &^= 1 << i
				if on != m.usual {
					c.now.private |= 1 << i
				}
			}
		}
	}
	c.within.merge(c.now)
}

// keyboard counts the pushed flags of the kitty keyboard. Flags set while none is
// pushed persist.
func (c *ModeTracker) keyboard(s sequence) {
	screen := 0
	if c.now.alt != 0 {
		screen = 1
	}
	pushed := &c.now.pushed[screen]
	switch s.prefix {
	case '>':
		*pushed = min(*pushed+1, maxNumber)
	case '<':
		*pushed = max(0, *pushed-s.param(0, 1))
	case '=':
		if *pushed == 0 {
			c.now.set[screen] = s.param(0, 0) > 0 && s.param(1, 1) != 3 || s.param(1, 1) == 3 && c.now.set[screen]
		}
	}
}

// softReset performs DECSTR. It keeps mouse modes, bracketed paste and the screens.
func (c *ModeTracker) softReset() {
	for _, mode := range []int{cursorKeys, originMode, numericKeypad} {
		c.changeMode(mode, '?', false)
	}
	for _, mode := range []int{autoWrap, cursorVisible} {
		c.changeMode(mode, '?', true)
	}
	c.changeState(inserting|otherCharset|shiftedOut, false)
	c.now.sgr, c.now.top, c.now.bottom = 0, 0, 0
}

// attributes lists ranges of SGR numbers that set an attribute, and the number that
// clears it.
var attributes = []struct {
	on  [][2]int
	off int
}{
	{[][2]int{{1, 2}}, 22},
	{[][2]int{{3, 3}, {20, 20}}, 23},
	{[][2]int{{4, 4}, {21, 21}}, 24},
	{[][2]int{{5, 6}}, 25},
	{[][2]int{{7, 7}}, 27},
	{[][2]int{{8, 8}}, 28},
	{[][2]int{{9, 9}}, 29},
	{[][2]int{{11, 19}}, 10},
	{[][2]int{{30, 38}, {90, 97}}, 39},
	{[][2]int{{40, 48}, {100, 107}}, 49},
	{[][2]int{{53, 53}}, 55},
	{[][2]int{{58, 58}}, 59},
}

// styled returns the attributes, one bit each, after an SGR.
func styled(now uint32, raw []byte) uint32 {
	parts := bytes.Split(raw, []byte{';'})
	for i := 0; i < len(parts); i++ {
		head, rest, sub := bytes.Cut(parts[i], []byte{':'})
		n, err := strconv.Atoi(string(head))
		switch {
		case err != nil && len(head) > 0:
			return now
		case n == 0:
			now = 0
		case n == 4 && string(rest) == "0":
			n = 24
		case (n == 38 || n == 48 || n == 58) && !sub && i+1 < len(parts): // the colour's numbers follow
			if i += 4; string(parts[i-3]) == "5" {
				i -= 2
			}
		}
		for bit, a := range attributes {
			if n == a.off {
				now &^= 1 << bit
			}
			for _, on := range a.on {
				if n >= on[0] && n <= on[1] {
					now |= 1 << bit
				}
			}
		}
	}
	return now
}
