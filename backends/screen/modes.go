package screen

import (
	"fmt"
	"strings"

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
	shifted     int            // which of sets is used
	saved       [2]cursorState // with the cursor, of either screen
	kitty       [2][]int       // flags that programs have pushed, of either screen
	otherKeys   int            // xterm's modifyOtherKeys
	shape       int            // of the cursor
}

// cursorState is what is saved with the cursor, beside what the emulator saves.
type cursorState struct {
	origin  bool
	sets    [2]byte
	shifted int
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

// foreign are those that a terminal may have and ours has not: they are kept for one that
// shows the job later, and not recognised.
var foreign = map[int]bool{5: true, 1016: true, 2031: true, 2048: true}

// replayed are the DEC modes that another terminal is told, in the order in which it is:
// each changes what it sends or looks like, and nothing that is on it.
var replayed = []int{cursorKeys, 5, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, bracketedPaste, 2031, 2048}

// replay is what makes another terminal so, which is as it was switched on, but for what is
// written on it and where: which screen is shown, what keys and the mouse send, how the
// cursor looks.
func (m *modes) replay() string {
	var b strings.Builder
	flags := func(screen int) {
		if stack := m.kitty[screen]; len(stack) > 0 && stack[len(stack)-1] != 0 {
			fmt.Fprintf(&b, "\x1b[=%du", stack[len(stack)-1])
		}
	}
	flags(0)
	if m.alt {
		b.WriteString("\x1b[?1049h\x1b[H\x1b[2J")
		flags(1)
	}
	for _, mode := range replayed {
		if m.set[mode] {
			fmt.Fprintf(&b, "\x1b[?%dh", mode)
		}
	}
	for _, one := range []struct {
		on   bool
		sets string
	}{
		{m.keypad, "\x1b="},
		{m.insert, "\x1b[4h"},
		{m.newline, "\x1b[20h"},
		{m.otherKeys > 0, fmt.Sprintf("\x1b[>4;%dm", m.otherKeys)},
		{m.shape > 0, fmt.Sprintf("\x1b[%d q", m.shape)},
		{!m.set[autoWrap], "\x1b[?7l"},
		{!m.visible, "\x1b[?25l"},
	} {
		if one.on {
			b.WriteString(one.sets)
		}
	}
	return b.String()
}

// foreignTo takes what a terminal may have and ours has not: modifyOtherKeys, and the
// shape of the cursor.
func (m *modes) foreignTo(c sequence) bool {
	switch {
	case c.inter == ' ' && c.final == 'q' && c.prefix == 0:
		m.shape = c.param(0, 0)
	case c.inter == 0 && c.final == 'm' && c.prefix == '>':
		if which := c.param(0, 0); which == 0 || which == 4 {
			m.otherKeys = c.param(1, 0)
		}
	default:
		return false
	}
	return true
}

// reset makes them those of a terminal that was just switched on.
func (m *modes) reset() {
	*m = modes{set: map[int]bool{autoWrap: true, cursorVisible: true}, visible: true, sets: latin}
	m.saved = [2]cursorState{{sets: latin}, {sets: latin}}
}

// latin are the sets of a terminal that was just switched on.
var latin = [2]byte{'B', 'B'}

// save is DECSC.
func (m *modes) save() { m.saved[m.screen()] = cursorState{m.set[originMode], m.sets, m.shifted} }

// restore is DECRC.
func (m *modes) restore() {
	s := m.saved[m.screen()]
	m.set[originMode], m.sets, m.shifted = s.origin, s.sets, s.shifted
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
	case prefix == '?' && foreign[mode]:
		m.set[mode] = on
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

// escape is DECKPAM, DECKPNM, DECSC, DECRC, and the choice of a character set.
func (m *modes) escape(inter, final byte) {
	switch {
	case (inter == '(' || inter == ')') && (final == '0' || final == 'A' || final == 'B'):
		m.sets[inter-'('] = final
	case inter == 0 && (final == '=' || final == '>'):
		m.keypad = final == '='
		m.set[numericKeypad] = m.keypad
	case inter == 0 && final == '7':
		m.save()
	case inter == 0 && final == '8':
		m.restore()
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

// softReset is DECSTR: what most programs leave behind is made good. It leaves the mouse,
// what is pasted, the other keys and the screens.
func (m *modes) softReset() {
	was := *m
	m.reset()
	for mode, on := range was.set {
		if mode != cursorKeys && mode != originMode && mode != numericKeypad && mode != autoWrap && mode != cursorVisible {
			m.set[mode] = on
		}
	}
	m.kitty, m.alt, m.otherKeys, m.shape = was.kitty, was.alt, was.otherKeys, was.shape
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
