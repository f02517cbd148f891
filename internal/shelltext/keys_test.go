package shelltext_test

import (
	"errors"
	"strings"
	"testing"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// The bytes that the requirements name, and those of xterm and the kitty
// protocol beside them.
func TestKeysAreTyped(t *testing.T) {
	plain, app, copilot := shelltext.KeyMode{}, shelltext.KeyMode{AppCursor: true, AppKeypad: true}, shelltext.KeyMode{BackspaceBS: true}
	kitty := shelltext.KeyMode{AppCursor: true, AppKeypad: true, Kitty: shelltext.Disambiguate}
	all := shelltext.KeyMode{Kitty: shelltext.Disambiguate | shelltext.AllKeys | shelltext.AlternateKeys | shelltext.AssociatedText}
	for _, c := range []struct {
		mode       shelltext.KeyMode
		text, want string
	}{
		{plain, "", ""},
		{plain, "naïve 日本 }>", "naïve 日本 }>"},
		{plain, "{lbrace}a} <lt>b> {rbrace}{gt}", "{a} <b> }>"},
		{plain, "{up}{down}{right}{left}", "\x1b[A\x1b[B\x1b[C\x1b[D"},
		{app, "<Up><Down><Right><Left>", "\x1bOA\x1bOB\x1bOC\x1bOD"},
		{plain, "{home}{end}", "\x1b[H\x1b[F"},
		{app, "{home}{end}", "\x1bOH\x1bOF"},
		{app, "{ctrl+up}", "\x1b[1;5A"},
		{plain, "{pageup}{pgdn}{insert}{del}", "\x1b[5~\x1b[6~\x1b[2~\x1b[3~"},
		{plain, "<S-Tab><tab>{M-S-Tab}", "\x1b[Z\t\x1b\x1b[Z"},
		{plain, "{enter}<CR>{return}", "\r\r\r"},
		{plain, "a\nb\r\nc\rd", "a\rb\rc\rd"},
		{plain, "{backspace}<bs>{esc}<space>", "\x7f\x7f\x1b "},
		{copilot, "{backspace}{ctrl+backspace}", "\x08\x7f"},
		{plain, "<C-BS>", "\x08"},
		{plain, "<C-a><C-Z>{ctrl+c}{ctrl-d}{control+[}<C-_><C-Space><C-?>", "\x01\x1a\x03\x04\x1b\x1f\x00\x7f"},
		{plain, "<M-x><M-X><A-S-x>{alt+enter}<M-C-a>{meta+lt}<M-日>", "\x1bx\x1bX\x1bX\x1b\r\x1b\x01\x1b<\x1b日"},
		{plain, "<C-S-Left>{f1}<F4><F5>{shift+f5}{F20}<S-F1>", "\x1b[1;6D\x1bOP\x1bOS\x1b[15~\x1b[15;2~\x1b[34~\x1b[1;2P"},
		{plain, "{kp1}{kpplus}{kpenter}", "1+\r"},
		{app, "{kp1}{kpplus}{kpenter}", "\x1bOq\x1bOk\x1bOM"},
		{plain, "<M-+>{alt++}<M-->", "\x1b+\x1b+\x1b-"},
		{plain, "<S-a>\x03\xff", "A\x03\xff"},
		{kitty, "aA{up}{esc}{enter}{tab}{backspace}", "aA\x1b[A\x1b[27u\r\t\x7f"},
		{kitty, "<C-c><C-S-C><M-X><C-Enter>", "\x1b[99;5u\x1b[99;6u\x1b[120;4u\x1b[13;5u"},
		{kitty, "<D-Left>{f1}{f3}{S-f3}{f13}<D-s>{C-kp1}{kp1}{kpenter}", "\x1b[1;9D\x1b[P\x1b[13~\x1b[13;2~\x1b[57376u\x1b[115;9u\x1b[57400;5u1\x1b[57414u"},
		{all, "aA\n\t", "\x1b[97;;97u\x1b[97:65;2;65u\x1b[13u\x1b[9u"},
		{all, "<C-a>{kp7}{up}", "\x1b[97;5u\x1b[57406;;55u\x1b[A"},
		{all, "é\xff\x03", "\x1b[233;;233u\xff\x03"},
		{shelltext.KeyMode{Kitty: shelltext.EventTypes}, "<C-a>{f1}", "\x01\x1bOP"},
		{shelltext.KeyMode{Kitty: shelltext.AllKeys}, "a{C-S-a}", "\x1b[97u\x1b[97;6u"},
		{shelltext.KeyMode{Pipe: true}, "a{enter}{tab}{esc}{bs}<C-c>{C-\\}{ctrl+`}<lt>{lbrace} \r\n", "a\n\t\x1b\x7f\x03\x1c\x00<{ \r\n"},
	} {
		got, err := shelltext.EncodeKeys(c.text, c.mode)
		if err != nil || string(got) != c.want {
			t.Errorf("%q in %+v:\n got %q, %v\nwant %q", c.text, c.mode, got, err, c.want)
		}
	}
}

// A key that is none is refused, with its name and what could be written; so is one whose
// modifiers the program would not see.
func TestBadInputKeys(t *testing.T) {
	for _, c := range []struct {
		mode       shelltext.KeyMode
		text, name string
		code       messages.Code
	}{
		{shelltext.KeyMode{}, "a{F99}", `"F99"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<b>", `"b"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{}", `""`, messages.InvalidParams},
		{shelltext.KeyMode{}, "x {up", `"{up"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<C->", `"C-"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{ctrl+up+down}", `"ctrl+up+down"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{ctrl+enter}", `"ctrl+enter"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<S-CR>", `"S-CR"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<C-S-a>", `"C-S-a"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<C-,>", `"C-,"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<D-x>", `"D-x"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{f21}", `"f21"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "<S-1>", `"S-1"`, messages.InvalidParams},
		{shelltext.KeyMode{Kitty: shelltext.EventTypes}, "<C-Tab>", `"C-Tab"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{C-\x00}", `"C-\x00"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{C-\xff}", `"C-�"`, messages.InvalidParams},
		{shelltext.KeyMode{}, "{" + strings.Repeat("x", 1000) + "}", strings.Repeat("x", 64) + "…", messages.InvalidParams},
		{shelltext.KeyMode{Pipe: true}, "{F99}", `"F99"`, messages.InvalidParams},
		{shelltext.KeyMode{Pipe: true}, "{Up}", `"Up"`, messages.Unsupported},
		{shelltext.KeyMode{Pipe: true}, "<M-x>", `"M-x"`, messages.Unsupported},
		{shelltext.KeyMode{Pipe: true}, "<F5>", `"F5"`, messages.Unsupported},
	} {
		got, err := shelltext.EncodeKeys(c.text, c.mode)
		var coded *messages.Error
		if !errors.As(err, &coded) || coded.Code != c.code || coded.Reason != "keys" || !strings.Contains(coded.Message, c.name) || got != nil {
			t.Errorf("%q in %+v: %q, %v", c.text, c.mode, got, err)
			continue
		}
		if !strings.Contains(coded.Hint, "{enter}") || strings.Contains(coded.Hint, "{up}") == c.mode.Pipe {
			t.Errorf("%q in %+v: the hint is %q", c.text, c.mode, coded.Hint)
		}
	}
}

// What a terminal sends in the kitty protocol becomes what the program expects.
func TestKittyInputIsRetyped(t *testing.T) {
	app, kitty := shelltext.KeyMode{AppCursor: true}, shelltext.KeyMode{Kitty: shelltext.Disambiguate}
	for _, c := range []struct {
		mode     shelltext.KeyMode
		in, want string
	}{
		{app, "\x1b[A", "\x1bOA"},
		{shelltext.KeyMode{}, "\x1bOA", "\x1b[A"},
		{app, "\x1b[1;1:1H", "\x1bOH"},
		{app, "\x1b[1;129F", "\x1bOF"},
		{app, "\x1b[1;5A", "\x1b[1;5A"},
		{app, "\x1b[1;1:3A", ""},
		{app, "\x1b[97;1:3u", ""},
		{app, "\x1b[5;1:2~", "\x1b[5~"},
		{app, "\x1b[97u", "a"},
		{app, "\x1b[97;;97u", "a"},
		{app, "\x1b[97;2u", "A"},
		{app, "\x1b[49:33;2u", "!"},
		{app, "\x1b[97;2;65u", "A"},
		{app, "\x1b[97;5u", "\x01"},
		{app, "\x1b[122;5u", "\x1a"},
		{app, "\x1b[120;3u", "\x1bx"},
		{app, "\x1b[120;67u", "\x1bx"},
		{app, "\x1b[13u", "\r"},
		{app, "\x1b[13;2u", "\r"},
		{app, "\x1b[9u", "\t"},
		{app, "\x1b[9;2u", "\x1b[Z"},
		{app, "\x1b[Z", "\x1b[Z"},
		{app, "\x1b[32u", " "},
		{app, "\x1b[32;5u", "\x00"},
		{app, "\x1b[127u", "\x7f"},
		{app, "\x1b[27u", "\x1b"},
		{app, "\x1b[57414u", "\r"},
		{app, "\x1b[27;5;112~", "\x10"},
		{app, "\x1b[27;3;120~", "\x1bx"},
		{app, "\x1b[27;2;9~", "\x1b[Z"},
		{kitty, "\x1b[27;5;97~", "\x1b[97;5u"},
		{app, "\x1b[0;;12354:12363u", "\x1b[0;;12354:12363u"},
		{app, "\x1b[97;;12354:12363u", "あか"},
		{kitty, "\x1b[97;5u", "\x1b[97;5u"},
		{kitty, "\x03", "\x03"},
		{kitty, "\x1b[13~", "\x1b[13~"},
		{app, "\x1b[13~", "\x1bOR"},
		// What is no key, or none of ours, stays.
		{app, "a", "a"},
		{app, "\x1b", "\x1b"},
		{app, "\x1bx", "\x1bx"},
		{app, "\x1b[", "\x1b["},
		{app, "\x1b[5;10R", "\x1b[5;10R"},
		{app, "\x1b[?1u", "\x1b[?1u"},
		{app, "\x1b[<0;1;1M", "\x1b[<0;1;1M"},
		{app, "\x1b[57441u", "\x1b[57441u"},
		{app, "\x1b[200~", "\x1b[200~"},
		{app, "\x1b[1;2;3;4u", "\x1b[1;2;3;4u"},
		{app, "", ""},
		{app, "\x1bO\x00", "\x1bO\x00"},
		{app, "\x1b[99999999999u", "\x1b[99999999999u"},
	} {
		if got := shelltext.TranslateKey([]byte(c.in), c.mode); string(got) != c.want {
			t.Errorf("%q in %+v: got %q, want %q", c.in, c.mode, got, c.want)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"a{up}<C-S-Left>\r\n{f13}", "{ctrl+", "<lt>{kp1}<D-x>\xff日", "{}<>{{}}<<>>", "{ctrl+shift+alt+meta+super+x}"} {
		for _, mode := range []uint8{0, 1, 6, 8, 0x10, 0xf0} {
			f.Add(seed, mode)
		}
	}
	f.Fuzz(func(t *testing.T, text string, bits uint8) {
		m := mode(bits)
		out, err := shelltext.EncodeKeys(text, m)
		var coded *messages.Error
		switch {
		case err == nil && len(out) > 32*len(text):
			t.Fatalf("%d bytes from %d", len(out), len(text))
		case err != nil && (out != nil || !errors.As(err, &coded) || coded.Hint == "" || len(coded.Message) > 1000):
			t.Fatalf("%q, %v", out, err)
		case err == nil && !strings.ContainsAny(text, "{<\r\n") && m.Kitty&shelltext.AllKeys == 0 && string(out) != text:
			t.Fatalf("%q became %q", text, out)
		}
	})
}

func FuzzRetype(f *testing.F) {
	for _, seed := range []string{"\x1b[97;5u", "\x1b[49:33:1;2:1;33u", "\x1b[1;5A", "\x1bOA", "\x1b[3;9~", "a"} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(0xf1))
	}
	f.Fuzz(func(t *testing.T, in []byte, bits uint8) {
		if out := shelltext.TranslateKey(in, mode(bits)); len(out) > 32+8*len(in) {
			t.Fatalf("%d bytes from %d", len(out), len(in))
		}
	})
}

// mode makes a mode of eight bits.
func mode(bits uint8) shelltext.KeyMode {
	return shelltext.KeyMode{
		Pipe: bits == 1, AppCursor: bits&2 != 0, AppKeypad: bits&4 != 0, BackspaceBS: bits&8 != 0,
		Kitty: shelltext.Kitty(bits>>4)&(shelltext.Disambiguate|shelltext.AlternateKeys) | shelltext.Kitty(bits>>3)&(shelltext.AllKeys|shelltext.AssociatedText),
	}
}
