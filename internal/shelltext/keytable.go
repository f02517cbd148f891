package shelltext

import (
	"strconv"
	"unicode"
)

// key is a key that has a name. The bytes are those of xterm's PC style, which terminals
// and terminfo have in common, and of the kitty protocol where a program asks for that.
type key struct {
	name   string
	char   rune // a character that the notation needs a name for; nothing else is set then
	c0     byte // typed as this byte: enter, tab, esc, backspace
	letter byte // typed as CSI 1;MODS letter, or CSI or SS3 letter
	number int  // typed as CSI number;MODS ~
	keypad byte // typed as SS3 keypad where the program asked for the application keypad
	plain  byte // where it did not
	code   int  // of CSI u
}

// keyTable are all keys.
var keyTable = keys()

func keys() []key {
	all := []key{
		{name: "space", char: ' '},
		{name: "lt", char: '<'},
		{name: "gt", char: '>'},
		{name: "lbrace", char: '{'},
		{name: "rbrace", char: '}'},
		{name: "enter", c0: '\r', code: '\r'},
		{name: "tab", c0: '\t', code: '\t'},
		{name: "esc", c0: 0x1b, code: 0x1b},
		{name: "backspace", c0: 0x7f, code: 0x7f},
		{name: "up", letter: 'A'},
		{name: "down", letter: 'B'},
		{name: "right", letter: 'C'},
		{name: "left", letter: 'D'},
		{name: "begin", letter: 'E'},
		{name: "end", letter: 'F'},
		{name: "home", letter: 'H'},
		{name: "insert", number: 2},
		{name: "delete", number: 3},
		{name: "pageup", number: 5},
		{name: "pagedown", number: 6},
		{name: "kpdecimal", keypad: 'n', plain: '.', code: 57409},
		{name: "kpdivide", keypad: 'o', plain: '/', code: 57410},
		{name: "kpmultiply", keypad: 'j', plain: '*', code: 57411},
		{name: "kpminus", keypad: 'm', plain: '-', code: 57412},
		{name: "kpplus", keypad: 'k', plain: '+', code: 57413},
		{name: "kpenter", keypad: 'M', plain: '\r', code: 57414},
		{name: "kpequal", keypad: 'X', plain: '=', code: 57415},
	}
	for i := range byte(10) {
		all = append(all, key{name: "kp" + string('0'+i), keypad: 'p' + i, plain: '0' + i, code: 57399 + int(i)})
	}
	for i := range 35 {
		all = append(all, functionKey(i+1))
	}
	return all
}

// functionNumbers are those of F1 to F20 in CSI number ~; a VT220 has gaps.
func functionNumbers() []int {
	return []int{11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34}
}

// functionKey is F n. The first four have letters; those behind the twentieth are known
// to the kitty protocol only, which has codes for those behind the twelfth.
func functionKey(n int) key {
	k := key{name: "f" + strconv.Itoa(n)}
	if numbers := functionNumbers(); n <= len(numbers) {
		k.number = numbers[n-1]
	}
	switch {
	case n <= 4:
		k.letter = 'P' + byte(n-1)
	case n > 12:
		k.code = 57363 + n
	}
	return k
}

// otherNames are further names of keys.
func otherNames() map[string]string {
	return map[string]string{
		"cr": "enter", "return": "enter", "escape": "esc", "bs": "backspace", "spc": "space", "ins": "insert", "del": "delete",
		"pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown",
	}
}

// keyNamed finds a key by a name of small letters.
func keyNamed(name string) (*key, bool) {
	if first, ok := otherNames()[name]; ok {
		name = first
	}
	return find(func(k *key) bool { return k.name == name })
}

func find(is func(*key) bool) (*key, bool) {
	for i := range keyTable {
		if is(&keyTable[i]) {
			return &keyTable[i], true
		}
	}
	return nil, false
}

func enterKey() *key { return &key{name: "enter", c0: '\r', code: '\r'} }

func tabKey() *key { return &key{name: "tab", c0: '\t', code: '\t'} }

// upperIsShift writes a capital as its letter with shift; with ctrl a letter has no case.
func upperIsShift(s keyPress) keyPress {
	small := unicode.ToLower(s.char)
	if small == s.char || unicode.ToUpper(small) != s.char {
		return s
	}
	if s.char = small; s.mods&withCtrl == 0 {
		s.mods |= withShift
	}
	return s
}

// capital is the letter with shift; not ok if what shift makes of it is the keyboard's
// affair.
func capital(char rune) (upper rune, ok bool) {
	upper = unicode.ToUpper(char)
	return upper, upper != char && unicode.ToLower(upper) == char
}
