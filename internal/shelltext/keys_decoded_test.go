package shelltext_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"

	"troupe/internal/shelltext"
)

// named are the keys that are not one character, as the decoder knows them.
func named() map[string]rune {
	known := map[string]rune{
		"enter": uv.KeyEnter, "tab": uv.KeyTab, "esc": uv.KeyEscape, "backspace": uv.KeyBackspace,
		"up": uv.KeyUp, "down": uv.KeyDown, "right": uv.KeyRight, "left": uv.KeyLeft, "begin": uv.KeyBegin, "end": uv.KeyEnd, "home": uv.KeyHome,
		"insert": uv.KeyInsert, "delete": uv.KeyDelete, "pageup": uv.KeyPgUp, "pagedown": uv.KeyPgDown,
		"kpdecimal": uv.KeyKpDecimal, "kpdivide": uv.KeyKpDivide, "kpmultiply": uv.KeyKpMultiply, "kpminus": uv.KeyKpMinus,
		"kpplus": uv.KeyKpPlus, "kpenter": uv.KeyKpEnter, "kpequal": uv.KeyKpEqual,
	}
	for i := range rune(10) {
		known[fmt.Sprintf("kp%d", i)] = uv.KeyKp0 + i
	}
	for i := range rune(35) {
		known[fmt.Sprintf("f%d", i+1)] = uv.KeyF1 + i
	}
	return known
}

// characters are keys of one character: their notation, and what they are without shift.
func characters() map[string]rune {
	known := map[string]rune{"space": ' ', "lt": '<', "gt": '>', "lbrace": '{', "rbrace": '}', "é": 'é', "я": 'я', "日": '日'}
	for c := '!'; c < 0x7f; c++ {
		if !strings.ContainsRune("<>{}", c) && !unicode.IsUpper(c) {
			known[string(c)] = c
		}
	}
	return known
}

// withMods writes a key with modifiers.
func withMods(name string, mods uv.KeyMod) string {
	for _, m := range []struct {
		mod  uv.KeyMod
		word string
	}{{uv.ModShift, "shift+"}, {uv.ModAlt, "alt+"}, {uv.ModCtrl, "ctrl+"}, {uv.ModSuper, "super+"}} {
		if mods&m.mod != 0 {
			name = m.word + name
		}
	}
	return name
}

// sameByte is what a terminal without codes cannot tell from another key: ctrl and these
// characters, and what a program takes them for.
func sameByte(k uv.Key) uv.Key {
	if k.Mod&uv.ModCtrl == 0 {
		return k
	}
	same := map[rune]uv.Key{
		'i': {Code: uv.KeyTab}, 'm': {Code: uv.KeyEnter}, '[': {Code: uv.KeyEscape}, '{': {Code: uv.KeyEscape}, '3': {Code: uv.KeyEscape},
		'8': {Code: uv.KeyBackspace}, '?': {Code: uv.KeyBackspace}, uv.KeyBackspace: {Code: 'h', Mod: uv.ModCtrl},
		'@': {Code: ' ', Mod: uv.ModCtrl}, '`': {Code: ' ', Mod: uv.ModCtrl}, '2': {Code: ' ', Mod: uv.ModCtrl},
		'|': {Code: '\\', Mod: uv.ModCtrl}, '4': {Code: '\\', Mod: uv.ModCtrl}, '}': {Code: ']', Mod: uv.ModCtrl}, '5': {Code: ']', Mod: uv.ModCtrl},
		'~': {Code: '^', Mod: uv.ModCtrl}, '6': {Code: '^', Mod: uv.ModCtrl}, '7': {Code: '_', Mod: uv.ModCtrl}, '/': {Code: '_', Mod: uv.ModCtrl},
	}
	if other, ok := same[k.Code]; ok {
		other.Mod |= k.Mod &^ uv.ModCtrl
		return other
	}
	return k
}

// begins reports that escape and the character begin a sequence: alt and they are bytes
// that a program can take for a key only by waiting.
func begins(k uv.Key) bool {
	shifted := k.Mod&uv.ModShift != 0
	return k.Mod&uv.ModAlt != 0 && k.Mod&uv.ModCtrl == 0 && (strings.ContainsRune("[]^_", k.Code) || shifted && strings.ContainsRune("opx", k.Code))
}

// Each key with each set of modifiers is either read by a decoder of another hand as what
// was typed, or refused; and with all keys as codes nothing is refused.
func TestKeysAreReadAsTyped(t *testing.T) {
	known := characters()
	for name, code := range named() {
		known[name] = code
	}
	typed, refused := 0, 0
	for _, m := range []shelltext.KeyMode{
		{},
		{AppCursor: true, AppKeypad: true},
		{Kitty: shelltext.Disambiguate, AppCursor: true, AppKeypad: true},
		{Kitty: shelltext.Disambiguate | shelltext.AllKeys},
		{Kitty: shelltext.Disambiguate | shelltext.AllKeys | shelltext.AlternateKeys | shelltext.AssociatedText | shelltext.EventTypes},
	} {
		for name, code := range known {
			for mods := range uv.KeyMod(8) {
				typed += readBack(t, m, name, uv.Key{Code: code, Mod: mods}, &refused)
				typed += readBack(t, m, name, uv.Key{Code: code, Mod: mods | uv.ModSuper}, &refused)
			}
		}
	}
	if typed < 6000 || refused < 500 {
		t.Errorf("%d typed, %d refused: this is not every key", typed, refused)
	}
}

// readBack types one key and reads it; it gives the number of keys that were read.
func readBack(t *testing.T, m shelltext.KeyMode, name string, want uv.Key, refused *int) int {
	t.Helper()
	if _, isText := characters()[name]; isText && len(name) < 4 && want.Mod == 0 && name != "lt" && name != "gt" {
		return 0 // text, which has no brackets
	}
	notation := withMods(name, want.Mod)
	out, err := shelltext.EncodeKey(notation, m)
	if err != nil {
		if *refused++; m.Kitty&shelltext.AllKeys != 0 {
			t.Errorf("%s in %+v: %v", notation, m, err)
		}
		return 0
	}
	codes := m.Kitty&shelltext.Disambiguate != 0
	if !codes {
		if want = sameByte(want); begins(want) {
			return 0
		}
	}
	if !codes && !m.AppKeypad || m.Kitty == shelltext.Disambiguate && want.Mod == 0 { // the keypad writes its text
		if text, ok := padText(name); ok && (text != '\r' || !codes) {
			want.Code = text
		}
	}
	var d uv.EventDecoder
	n, event := d.Decode(out)
	if either, is := event.(uv.MultiEvent); is && strings.HasSuffix(name, "f3") {
		event = either[0] // or the answer to a question for the cursor, which looks the same
	}
	got, ok := event.(uv.KeyPressEvent)
	if !ok || n != len(out) {
		t.Errorf("%s in %+v: %q is read as %T, %d of %d bytes", notation, m, out, event, n, len(out))
		return 0
	}
	if got.Mod == uv.ModMeta|want.Mod&^uv.ModSuper && want.Mod&uv.ModSuper != 0 {
		got.Mod = want.Mod // xterm's meta is the protocol's super, and the decoder asks who sends it
	}
	if got.Code > unicode.MaxASCII && unicode.IsUpper(got.Code) && got.Code < uv.KeyExtended { // of these the decoder leaves the case
		got.Code, got.Mod = unicode.ToLower(got.Code), got.Mod|uv.ModShift
	}
	if got.Code != want.Code || got.Mod != want.Mod {
		t.Errorf("%s in %+v: %q is read as %s (%d, %b), want (%d, %b)", notation, m, out, uv.Key(got).Keystroke(), got.Code, got.Mod, want.Code, want.Mod)
	}
	return 1
}

// padText is what a key of the keypad writes.
func padText(name string) (rune, bool) {
	name, ok := strings.CutPrefix(name, "kp")
	if !ok {
		return 0, false
	}
	if len(name) == 1 {
		return rune(name[0]), true
	}
	return map[string]rune{"decimal": '.', "divide": '/', "multiply": '*', "minus": '-', "plus": '+', "enter": '\r', "equal": '='}[name], true
}
