package shelltext

import (
	"strconv"
	"sync"
	"unicode"
)

// key is a named key. Its bytes follow xterm's PC style, which terminals and terminfo
// share, and the kitty protocol if a program asks for it.
type key struct {
	name   string
	char   rune // character that needs a name in the notation; excludes all other fields
	c0     byte // byte of enter, tab, esc, backspace
	letter byte // encoded as CSI 1;MODS letter, or CSI or SS3 letter
	number int  // encoded as CSI number;MODS ~
	keypad byte // encoded as SS3 keypad in application keypad mode
	plain  byte // byte outside of that mode
	code   int  // code for CSI u
}

// keyTable returns the named keys.
var keyTable = sync.OnceValue(keys)

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

// functionNumbers returns the numbers of F1 to F20 in CSI number ~; a VT220 has gaps.
func functionNumbers() []int {
	return []int{11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34}
}

// functionKey returns F n. F1 to F4 have letters. Keys from F21 on exist only in the
// kitty protocol, which has codes from F13 on.
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

// otherNames maps further names of keys to the first one.
func otherNames() map[string]string {
	return map[string]string{
		"cr": "enter", "return": "enter", "escape": "esc", "bs": "backspace", "spc": "space", "ins": "insert", "del": "delete",
		"pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown",
	}
}

// keyNamed finds a key by its lower-case name.
func keyNamed(name string) (*key, bool) {
	if first, ok := otherNames()[name]; ok {
		name = first
	}
	return find(func(k *key) bool { return k.name == name })
}

func find(is func(*key) bool) (*key, bool) {
	all := keyTable()
	for i := range all {
		if is(&all[i]) {
			return &all[i], true
		}
	}
	return nil, false
}

func enterKey() *key { return &key{name: "enter", c0: '\r', code: '\r'} }

func tabKey() *key { return &key{name: "tab", c0: '\t', code: '\t'} }

// upperIsShift turns a capital into its letter with shift; with ctrl a letter has no
// case.
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

// capital returns the letter with shift. ok is false if the result of shift depends on
// the keyboard.
func capital(char rune) (upper rune, ok bool) {
	upper = unicode.ToUpper(char)
	return upper, upper != char && unicode.ToLower(upper) == char
}
