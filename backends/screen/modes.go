package screen

import (
	"github.com/charmbracelet/x/ansi"

	"troupe/messages"
)

// modes are what a terminal was told to be, as far as somebody wants to know. Those
// that the emulator has are set there, too.
type modes struct {
	set         map[int]bool // of the DEC modes in known
	insert      bool
	newline     bool
	keypad      bool
	visible     bool
	alt         bool
	region      bool // the scrolling region may be less than all
	top, bottom int  // … if it is
	sets        [2]byte
	shifted     int      // which of sets is used
	kitty       [2][]int // flags that programs have pushed, of either screen
}

// maxKitty bounds the flags that are pushed and never popped.
const maxKitty = 16

// The modes that have a meaning here.
const (
	cursorKeys     = 1
	originMode     = 6
	autoWrap       = 7
	cursorVisible  = 25
	altScreen47    = 47
	numericKeypad  = 66
	altScreen      = 1047
	savedCursor    = 1048
	altScreenSaved = 1049
	bracketedPaste = 2004
)

// known are the DEC modes that are remembered: any other is not recognised, and not
// kept.
var known = map[int]bool{
	cursorKeys: true, originMode: true, autoWrap: true, cursorVisible: true, numericKeypad: true, altScreen47: true, altScreen: true,
	savedCursor: true, altScreenSaved: true, bracketedPaste: true,
	9: true, 1000: true, 1002: true, 1003: true, 1004: true, 1005: true, 1006: true, 1015: true, 2026: true,
}

// reset makes them those of a terminal that was just switched on.
func (m *modes) reset() {
	*m = modes{set: map[int]bool{autoWrap: true, cursorVisible: true}, visible: true, sets: [2]byte{'B', 'B'}}
}

func (m *modes) keys() messages.KeyModes {
	return messages.KeyModes{Cursor: m.set[cursorKeys], Keypad: m.keypad, Paste: m.set[bracketedPaste], Kitty: m.flags()}
}

// screen is which of the two is shown.
func (m *modes) screen() int {
	if m.alt {
		return 1
	}
	return 0
}

// flags are those of the kitty keyboard protocol that are in force.
func (m *modes) flags() int {
	stack := m.kitty[m.screen()]
	if len(stack) == 0 {
		return 0
	}
	return stack[len(stack)-1]
}

// keyboard is CSI > flags u, CSI = flags ; how u, and CSI < n u.
func (m *modes) keyboard(c sequence) {
	stack := &m.kitty[m.screen()]
	switch c.prefix {
	case '>':
		if len(*stack) == maxKitty {
			*stack = append((*stack)[:0], (*stack)[1:]...)
		}
		*stack = append(*stack, c.param(0, 0))
	case '<':
		*stack = (*stack)[:max(0, len(*stack)-c.param(0, 1))]
	case '=':
		if len(*stack) == 0 {
			*stack = append(*stack, 0)
		}
		top := &(*stack)[len(*stack)-1]
		switch c.param(1, 1) {
		case 1:
			*top = c.param(0, 0)
		case 2:
			*top |= c.param(0, 0)
		case 3:
			*top &^= c.param(0, 0)
		}
	}
}

// change sets a mode, and reports whether it is known. What shows the alternate screen
// is left to the caller.
func (m *modes) change(mode int, prefix byte, on bool) bool {
	switch {
	case prefix == 0 && mode == insertMode:
		m.insert = on
	case prefix == 0 && mode == newlineMode:
		m.newline = on
	case prefix != '?' || !known[mode]:
		return false
	default:
		m.set[mode] = on
		switch mode {
		case cursorVisible:
			m.visible = on
		case numericKeypad:
			m.keypad = on
		}
	}
	return true
}

// escape is DECKPAM, DECKPNM, and the choice of a character set.
func (m *modes) escape(inter, final byte) {
	switch {
	case (inter == '(' || inter == ')') && (final == '0' || final == 'A' || final == 'B'):
		m.sets[inter-'('] = final
	case inter == 0 && (final == '=' || final == '>'):
		m.keypad = final == '='
		m.set[numericKeypad] = m.keypad
	}
}

// shift is SO and SI.
func (m *modes) shift(b byte) {
	if b == 0x0e || b == 0x0f {
		m.shifted = int(0x0f - b)
	}
}

// margins remembers the scrolling region.
func (m *modes) margins(top, bottom int) {
	if top < bottom {
		m.region, m.top, m.bottom = top > 1 || bottom < maxNumber, top-1, bottom
	}
}

// softReset is DECSTR: what most programs leave behind is made good.
func (m *modes) softReset() {
	kitty, alt := m.kitty, m.alt
	m.reset()
	m.kitty, m.alt = kitty, alt
}

// report answers whether a mode is set.
func (m *modes) report(mode int, dec bool) string {
	setting := func(on bool) ansi.ModeSetting {
		if on {
			return ansi.ModeSet
		}
		return ansi.ModeReset
	}
	if dec {
		if known[mode] {
			return ansi.ReportMode(ansi.DECMode(mode), setting(m.set[mode]))
		}
		return ansi.ReportMode(ansi.DECMode(mode), ansi.ModeNotRecognized)
	}
	switch mode {
	case insertMode:
		return ansi.ReportMode(ansi.ANSIMode(mode), setting(m.insert))
	case newlineMode:
		return ansi.ReportMode(ansi.ANSIMode(mode), setting(m.newline))
	}
	return ansi.ReportMode(ansi.ANSIMode(mode), ansi.ModeNotRecognized)
}

// The modes without a question mark.
const (
	insertMode  = 4
	newlineMode = 20
)
