package console

import (
	"strconv"

	tea "charm.land/bubbletea/v2"
)

// finals has the letter or the number of the sequences of keys without text.
var finals = map[rune]struct {
	letter byte
	number int
}{
	tea.KeyUp: {letter: 'A'}, tea.KeyDown: {letter: 'B'}, tea.KeyRight: {letter: 'C'}, tea.KeyLeft: {letter: 'D'},
	tea.KeyHome: {letter: 'H'}, tea.KeyEnd: {letter: 'F'},
	tea.KeyInsert: {number: 2}, tea.KeyDelete: {number: 3}, tea.KeyPgUp: {number: 5}, tea.KeyPgDown: {number: 6},
	tea.KeyF1: {letter: 'P'}, tea.KeyF2: {letter: 'Q'}, tea.KeyF3: {number: 13}, tea.KeyF4: {letter: 'S'},
	tea.KeyF5: {number: 15}, tea.KeyF6: {number: 17}, tea.KeyF7: {number: 18}, tea.KeyF8: {number: 19},
	tea.KeyF9: {number: 20}, tea.KeyF10: {number: 21}, tea.KeyF11: {number: 23}, tea.KeyF12: {number: 24},
}

// modifiers are those that the sequences know: shift, alt and ctrl.
const modifiers = tea.ModShift | tea.ModAlt | tea.ModCtrl

// sequence returns a key as a terminal with the kitty protocol sends it. The console of omp
// encodes it for the program.
func sequence(k tea.KeyPressMsg) []byte {
	mods := k.Mod & modifiers
	if k.Text != "" && mods&^tea.ModShift == 0 {
		return []byte(k.Text)
	}
	parameter := ""
	if mods != 0 {
		parameter = ";" + strconv.Itoa(int(mods)+1)
	}
	f, known := finals[k.Code]
	switch {
	case !known:
		return []byte("\x1b[" + strconv.Itoa(int(k.Code)) + parameter + "u")
	case f.letter == 0:
		return []byte("\x1b[" + strconv.Itoa(f.number) + parameter + "~")
	case mods == 0:
		return []byte("\x1b[" + string(f.letter))
	}
	return []byte("\x1b[1" + parameter + string(f.letter))
}
