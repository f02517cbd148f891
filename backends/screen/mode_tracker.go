package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi/parser"
)

// ModeTracker follows what a terminal is shown, and knows what programs have turned on there
// and not off again: what whoever shows it must take back in the end. It keeps a few
// numbers and part of a sequence. The zero Changes is ready.
type ModeTracker struct {
	sieve  sequenceParser
	now    ModeState
	within ModeState // all that was changed at some moment of a Write
}

// ModeState is what of a terminal is not as it was: a value that can be compared. The zero
// Changed is a terminal that is as it was.
type ModeState struct {
	private uint32 // the DEC modes, by their place in privates
	states  uint32 // of stateNames
	sgr     uint32 // attributes of what is written
	alt     int    // the mode that has shown the alternate screen
	saved   bool   // the cursor was saved, by a mode of its own
	pushed  [2]int // flags of kitty's keyboard that were pushed, of either screen
	set     [2]bool
	top     int // scrolling region, if it has one
	bottom  int
	cut     bool // a sequence has no end yet
}

// privates are the DEC modes that are taken back: the screens and the cursor's keeping are
// not, which have fields.
var privates = []struct {
	mode  int
	usual bool
}{
	{mode: cursorKeys},
	{mode: 5},
	{mode: 9},
	{mode: 69},
	{mode: 1000},
	{mode: 1001},
	{mode: 1002},
	{mode: 1003},
	{mode: 1004},
	{mode: 1005},
	{mode: 1006},
	{mode: 1015},
	{mode: 1016},
	{mode: bracketedPaste},
	{mode: 2026},
	{mode: 2031},
	{mode: 2048},
	{mode: originMode},
	{mode: autoWrap, usual: true},
	{mode: cursorVisible, usual: true},
}

// What else is changed, and what takes it back.
const (
	keypadKeys = 1 << iota
	otherKeys  // xterm's modifyOtherKeys
	inserts
	feeds
	lettered // a set of characters in the place of ASCII
	shiftedOut
	shaped // the cursor
	palette
	foreground
	background
	cursorColour
)

var states = []struct {
	state uint32
	back  string
}{
	{keypadKeys, "\x1b>"},
	{otherKeys, "\x1b[>4m"},
	{inserts, "\x1b[4l"},
	{feeds, "\x1b[20l"},
	{lettered, "\x1b(B"},
	{shiftedOut, "\x0f"},
	{shaped, "\x1b[0 q"},
	{palette, "\x1b]104\x1b\\"},
	{foreground, "\x1b]110\x1b\\"},
	{background, "\x1b]111\x1b\\"},
	{cursorColour, "\x1b]112\x1b\\"},
}

// Write follows p, which is about to be shown or was. It returns all that is changed at
// some moment of it: who is cut off within p takes back that.
func (c *ModeTracker) Write(p []byte) (within ModeState) {
	c.sieve.to = c
	c.within = c.now
	c.sieve.take(p)
	c.now.cut = c.sieve.state != parser.GroundState
	c.within.cut = c.within.cut || c.now.cut || slices.Contains(p, 0x1b)
	return c.within
}

// Now is what is changed.
func (c *ModeTracker) Now() ModeState { return c.now }

// Alternate reports whether the alternate screen is shown.
func (c ModeState) Alternate() bool { return c.alt != 0 }

// Undo is what takes it back on a terminal of so many rows.
func (c ModeState) Undo(rows int) string {
	var b strings.Builder
	if c.cut {
		b.WriteByte(0x18) // CAN: what has begun is not completed by what comes
	}
	if c.alt != 0 {
		b.WriteString(c.kitty(1))
		fmt.Fprintf(&b, "\x1b[?%dl", c.alt)
		if c.saved {
			fmt.Fprintf(&b, "\x1b[?%dl", savedCursor)
		}
	}
	b.WriteString(c.kitty(0))
	b.WriteString(c.modes(false, 'l'))
	if c.top > 1 || c.bottom > 0 && c.bottom != rows {
		b.WriteString("\x1b7\x1b[r\x1b8")
	}
	b.WriteString(c.modes(true, 'h'))
	for _, s := range states {
		if c.states&s.state != 0 {
			b.WriteString(s.back)
		}
	}
	if c.sgr != 0 {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// kitty takes back the flags of a screen.
func (c ModeState) kitty(screen int) string {
	text := ""
	if c.pushed[screen] > 0 {
		text = fmt.Sprintf("\x1b[<%du", c.pushed[screen])
	}
	if c.set[screen] {
		text += "\x1b[=0u"
	}
	return text
}

// modes takes back the DEC modes that are usually so.
func (c ModeState) modes(usual bool, final byte) string {
	var list []string
	home := ""
	for i, m := range privates {
		if m.usual == usual && c.private>>i&1 != 0 {
			list = append(list, fmt.Sprint(m.mode))
			if m.mode == originMode && c.alt == 0 {
				home = cup(maxNumber-1, 0) // it has put the cursor to the top, where something is
			}
		}
	}
	if list == nil {
		return ""
	}
	return "\x1b[?" + strings.Join(list, ";") + string(final) + home
}

// also adds what is changed at another moment.
func (c *ModeState) also(d ModeState) {
	c.private |= d.private
	c.states |= d.states
	c.sgr |= d.sgr
	c.alt = max(c.alt, d.alt)
	c.saved = c.saved || d.saved
	for i := range c.pushed {
		c.pushed[i] = max(c.pushed[i], d.pushed[i])
		c.set[i] = c.set[i] || d.set[i]
	}
	if d.top > 1 || d.bottom > 0 {
		c.top, c.bottom = d.top, d.bottom
	}
}
