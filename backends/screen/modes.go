package screen

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/messages"
)

// modes holds the state of a terminal that is queried or replayed. The emulator's own
// modes are set there, too.
type modes struct {
	set         map[int]bool // DEC modes of known and foreign
	insert      bool
	newline     bool
	keypad      bool
	visible     bool
	alt         bool
	region      bool // the scrolling region may be smaller than the screen
	top, bottom int  // that region
	sets        [2]byte
	shifted     int            // index of the active set
	saved       [2]cursorState // saved with the cursor, of each screen
	kitty       [2][]int       // pushed keyboard flags, of each screen
	otherKeys   int            // xterm's modifyOtherKeys
	shape       int            // cursor shape
}

// cursorState is saved with the cursor, beside what the emulator saves.
type cursorState struct {
	origin  bool
	sets    [2]byte
	shifted int
}

// maxKitty bounds the pushed keyboard flags.
const maxKitty = 16

// Numbers of DEC modes.
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

// known lists the DEC modes that are recorded and reported. Others are not recognised.
var known = map[int]bool{
	cursorKeys: true, originMode: true, autoWrap: true, cursorVisible: true, numericKeypad: true, altScreen47: true, altScreen: true,
	savedCursor: true, altScreenSaved: true, bracketedPaste: true,
	9: true, 1000: true, 1002: true, 1003: true, 1004: true, 1005: true, 1006: true, 1015: true, 2026: true,
}

// foreign lists modes that the screen lacks but another terminal may have. They are
// recorded for replay, and not recognised.
var foreign = map[int]bool{5: true, 1016: true, 2031: true, 2048: true}

// replayed lists the DEC modes to set on another terminal, in order. They change its
// input or its look, and no text on it.
var replayed = []int{cursorKeys, 5, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, bracketedPaste, 2031, 2048}

// replay returns the sequences that give a freshly started terminal these modes:
// screen, keys, mouse and cursor shape. Text and cursor position are left out.
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

// foreignTo records what another terminal may have and vt lacks: modifyOtherKeys and
// the cursor shape. It reports whether c was one of them.
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

// reset sets the modes of a freshly started terminal.
func (m *modes) reset() {
	*m = modes{set: map[int]bool{autoWrap: true, cursorVisible: true}, visible: true, sets: latin}
	m.saved = [2]cursorState{{sets: latin}, {sets: latin}}
}

// latin holds the initial character sets.
var latin = [2]byte{'B', 'B'}

// save performs DECSC.
func (m *modes) save() { m.saved[m.screen()] = cursorState{m.set[originMode], m.sets, m.shifted} }

// restore performs DECRC.
func (m *modes) restore() {
	s := m.saved[m.screen()]
	m.set[originMode], m.sets, m.shifted = s.origin, s.sets, s.shifted
}

func (m *modes) keys() messages.KeyModes {
	return messages.KeyModes{Cursor: m.set[cursorKeys], Keypad: m.keypad, Paste: m.set[bracketedPaste], Kitty: m.flags()}
}

// screen returns the index of the shown screen: 0 main, 1 alternate.
func (m *modes) screen() int {
	if m.alt {
		return 1
	}
	return 0
}

// flags returns the keyboard flags in force.
func (m *modes) flags() int {
	stack := m.kitty[m.screen()]
	if len(stack) == 0 {
		return 0
	}
	return stack[len(stack)-1]
}

// keyboard performs CSI > flags u, CSI = flags ; how u, and CSI < n u.
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

// change sets a mode and reports whether it is known. The caller switches screens.
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

// escape performs DECKPAM, DECKPNM, DECSC, DECRC and the choice of a character set.
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

// shift performs SO and SI.
func (m *modes) shift(b byte) {
	if b == 0x0e || b == 0x0f {
		m.shifted = int(0x0f - b)
	}
}

// margins records the scrolling region.
func (m *modes) margins(top, bottom int) {
	if top < bottom {
		m.region, m.top, m.bottom = top > 1 || bottom < maxNumber, top-1, bottom
	}
}

// softReset performs DECSTR: it undoes what most programs leave set. It keeps mouse
// modes, bracketed paste, modifyOtherKeys and the screens.
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

// report returns the reply to a DECRQM query.
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

// Numbers of ANSI modes.
const (
	insertMode  = 4
	newlineMode = 20
)
