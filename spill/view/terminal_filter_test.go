package view

import (
	"strings"
	"testing"
)

func muted(m TerminalFilter, pieces ...string) string {
	var out []byte
	for _, p := range pieces {
		out = m.Append(out, []byte(p))
	}
	return string(out)
}

func TestSecurityMute(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 漢 \r\n\ttext":                  "plain é 漢 \r\n\ttext",
		"\x1b[31mred\x1b[0m\x1b[2J\x1b[10;20H":  "\x1b[31mred\x1b[0m\x1b[2J\x1b[10;20H",
		"a\x1b[cb\x1b[>cc\x1b[=cd":              "abcd",
		"a\x1b[6nb\x1b[?6nc\x1b[5nd\x1b[?996ne": "abcde",
		"a\x1b[?2004$pb\x1b[4$pc":               "abc",
		"a\x1b[!pb":                             "a\x1b[!pb",
		"a\x1b[?ub\x1b[>1uc\x1b[ud":             "ab\x1b[>1uc\x1b[ud",
		"a\x1b[>qb\x1b[2 qc":                    "ab\x1b[2 qc",
		"a\x1b[18tb\x1b[21tc\x1b[14td":          "abcd",
		"a\x1b[22;0tb\x1b[8;24;80tc":            "a\x1b[22;0tb\x1b[8;24;80tc",
		"a\x1b[?1;1;0Sb\x1b[2Sc":                "ab\x1b[2Sc",
		"a\x1b[?4mb\x1b[>4;2mc":                 "ab\x1b[>4;2mc",
		"a\x05b\x1bZc\x1b7d":                    "abc\x1b7d",
		"a\x1b]10;?\x07b\x1b]11;#fff\x07c":      "ab\x1b]11;#fff\x1b\\c",
		"a\x1b]4;1;?\x1b\\b\x1b]0;what?\x07c":   "ab\x1b]0;what?\x1b\\c",
		"a\x1b]52;c;?\x07b\x1b]52;c;aGk=\x07c":  "abc",
		"a\x1bP+q544e\x1b\\b\x1bP$qm\x1b\\c":    "abc",
		"a\x1bPq#0~\x1b\\b":                     "a\x1bPq#0~\x1b\\b",
		"a\x1b_Gi=1,a=q;x\x1b\\b\x1b_x\x1b\\c":  "ab\x1b_x\x1b\\c",
		"a\x1b[6\x18nb":                         "anb",
		"a\x1b\x1b[cb[6nc":                      "ab[6nc", // what is left makes no question
		"a\x1b[3\n1mb":                          "a\n\x1b[31mb",
		"a\x1bPq~\x1b[6nb":                      "a\x1bPq~\x1b\\b",
		"a\x1b[31":                              "a",
	} {
		if got := muted(TerminalFilter{}, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestMuteLeavesQuestionsToWhoAnswers(t *testing.T) {
	const in = "a\x1b[c\x1b[6n\x05\x1bZ\x1b]11;?\x1b\\\x1bP+q544e\x1b\\\x1b_Gi=1;x\x1b\\b"
	if got := muted(TerminalFilter{Questions: true}, in); got != in {
		t.Errorf("%q becomes %q", in, got)
	}
	const copies = "a\x1b]52;c;aGk=\x1b\\b"
	if got := muted(TerminalFilter{Clipboard: true}, copies+"\x1b]52;c;?\x07"); got != copies {
		t.Errorf("%q becomes %q", copies, got)
	}
	if got := muted(TerminalFilter{Questions: true}, copies+"\x1b]52;c;?\x07"); got != "ab" {
		t.Errorf("%q becomes %q", copies, got)
	}
}

// A question belongs to where it ends.
func TestMuteChangesBetweenPieces(t *testing.T) {
	var m TerminalFilter
	out := m.Append(nil, []byte("a\x1b[6nb\x1b["))
	m.Questions = true
	out = m.Append(out, []byte("5nc"))
	if string(out) != "ab\x1b[5nc" {
		t.Errorf("got %q", out)
	}
}

func TestMutePassesLongStrings(t *testing.T) {
	picture := "\x1bPq" + strings.Repeat("#0~", 100_000) + "\x1b\\"
	if got := muted(TerminalFilter{}, "a"+picture+"b"); got != "a"+picture+"b" {
		t.Errorf("a picture of %d bytes becomes %d", len(picture), len(got)-2)
	}
	title := "\x1b]0;" + strings.Repeat("x", 10*maxHeld) + "\x1b\\"
	if got := muted(TerminalFilter{}, title); got != title {
		t.Errorf("a title of %d bytes becomes %d", len(title), len(got))
	}
	if got := muted(TerminalFilter{}, "a\x1b]52;c;"+strings.Repeat("x", 10*maxHeld)+"\x07b"); got != "ab" {
		t.Errorf("a large clipboard: %d bytes are left", len(got))
	}
	var m TerminalFilter
	m.Append(nil, []byte("\x1b["+strings.Repeat("1;", 1<<20)))
	if cap(m.pending) > 4*maxHeld {
		t.Errorf("%d bytes are held back", cap(m.pending))
	}
}

// FuzzMute: what is left is the same however the bytes arrive, and has nothing in it
// that would be taken out.
func FuzzMute(f *testing.F) {
	for _, s := range bits {
		f.Add([]byte("a"+s+"b\x1b[6n"+s), uint8(1), false)
	}
	f.Add([]byte("\x1b\x05\x1b[1\x05m"), uint8(1), false)
	f.Add([]byte("\x1bP\x1b[6n\x1b\\\x1b_G\x1b\x1b[c\x18\x1b]52;\x1b]\a"), uint8(2), true)
	f.Fuzz(func(t *testing.T, p []byte, step uint8, questions bool) {
		whole := muted(TerminalFilter{Questions: questions}, string(p))
		var pieces []string
		for i, n := 0, int(step%7)+1; i < len(p); i += n {
			pieces = append(pieces, string(p[i:min(len(p), i+n)]))
		}
		if got := muted(TerminalFilter{Questions: questions}, pieces...); got != whole {
			t.Fatalf("%q in pieces becomes %q, whole %q", p, got, whole)
		}
		if again := muted(TerminalFilter{Questions: questions}, whole); again != whole {
			t.Fatalf("%q becomes %q, and that %q", p, whole, again)
		}
	})
}
