package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi/parser"
)

// ModeTracker records which modes the output of programs has changed on a terminal, so
// that they can be undone later. It keeps a few numbers and part of a sequence. The
// zero value is ready.
type ModeTracker struct {
	sequences sequenceParser
	now       ModeState
	within    ModeState // every change in effect at some moment of a Write
}

// ModeState holds what differs from a terminal's initial state. It is comparable; the
// zero value is the initial state.
type ModeState struct {
	private uint32  // DEC modes, by their index in privates
	states  uint32  // bits of the table states
	sgr     uint32  // bits of attributes
	alt     int     // mode that switched to the alternate screen; 0: main screen
	saved   bool    // the cursor was saved by mode 1048
	pushed  [2]int  // pushed kitty keyboard flags of each screen
	set     [2]bool // flags set without a push, of each screen
	top     int     // scrolling region; 0: none
	bottom  int
	cut     bool // a sequence is incomplete
}

// privates lists the DEC modes that Undo resets. ModeState has fields for the screens
// and the saved cursor.
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

// States that are not DEC modes; the table states has the sequences that undo them.
const (
	keypadKeys = 1 << iota
	otherKeys  // xterm's modifyOtherKeys
	inserting
	newlines
	otherCharset // a character set other than ASCII
	shiftedOut
	cursorShape
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
	{inserting, "\x1b[4l"},
	{newlines, "\x1b[20l"},
	{otherCharset, "\x1b(B"},
	{shiftedOut, "\x0f"},
	{cursorShape, "\x1b[0 q"},
	{palette, "\x1b]104\x1b\\"},
	{foreground, "\x1b]110\x1b\\"},
	{background, "\x1b]111\x1b\\"},
	{cursorColour, "\x1b]112\x1b\\"},
}

// Write follows output p. It returns every change in effect at some moment of p: output
// cut off within p must undo those.
func (c *ModeTracker) Write(p []byte) (within ModeState) {
	c.sequences.to = c
	c.within = c.now
	c.sequences.take(p)
	c.now.cut = c.sequences.state != parser.GroundState
	c.within.cut = c.within.cut || c.now.cut || slices.Contains(p, 0x1b)
	return c.within
}

// Now returns the changes in effect.
func (c *ModeTracker) Now() ModeState { return c.now }

// Alternate reports whether the alternate screen is shown.
func (c ModeState) Alternate() bool { return c.alt != 0 }

// Undo returns the sequences that restore a terminal with so many rows.
func (c ModeState) Undo(rows int) string {
	var b strings.Builder
	if c.cut {
		b.WriteByte(0x18) // CAN ends the incomplete sequence
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

// kitty returns the sequences that undo the keyboard flags of a screen.
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

// modes returns the sequence that resets DEC modes whose initial value is usual.
func (c ModeState) modes(usual bool, final byte) string {
	var list []string
	home := ""
	for i, m := range privates {
		if m.usual == usual && c.private>>i&1 != 0 {
			list = append(list, fmt.Sprint(m.mode))
			if m.mode == originMode && c.alt == 0 {
				home = cup(maxNumber-1, 0) // the reset moved the cursor to the top, onto text
			}
		}
	}
	if list == nil {
		return ""
	}
	return "\x1b[?" + strings.Join(list, ";") + string(final) + home
}

// merge adds the changes of d.
func (c *ModeState) merge(d ModeState) {
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
