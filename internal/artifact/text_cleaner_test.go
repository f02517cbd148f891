package artifact

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const picture = "\x1bP0;1;0q\"1;1;8;8#0;2;0;0;0#0~~@@vv\x1b\\"

func TestR082_FilesForModelsAreClean(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m\x1b]0;title\x07 text":    "red text",
		"a\x00b\x07c\x08d\x7fe\tf":                     "abcde\tf",
		"\ufff9a\ufffab\ufffb":                         "ab",
		"\xed\xa0\x80":                                 "\uFFFD\uFFFD\uFFFD", // a lone surrogate is no UTF-8
		"one\r\ntwo\rthree\r":                          "one\ntwo\nthree\n",
		"\x1bPq" + strings.Repeat("~", 20) + "\x1b\\x": "x",
	} {
		is(t, "clean", CleanText(in, CleanOptions{}), want)
	}
	is(t, "the last frame", CleanText("one\r\n10%\r100%\n", CleanOptions{Final: true}), "one\n100%\n")
}

func TestR083_PicturesStayIfBothNamesAreSet(t *testing.T) {
	env := map[string]string{}
	allowed := func() bool { return SixelAllowed(func(name string) string { return env[name] }) }
	is(t, "none set", allowed(), false)
	env["PI_FORCE_IMAGE_PROTOCOL"] = "sixel"
	is(t, "one set", allowed(), false)
	env["PI_ALLOW_SIXEL_PASSTHROUGH"] = "1"
	is(t, "both set", allowed(), true)
	env["PI_FORCE_IMAGE_PROTOCOL"] = "kitty"
	is(t, "another protocol", allowed(), false)

	text := "\x1b[1ma\r" + picture + "\x1b[mb\x1bPother\x1b\\"
	is(t, "without", CleanText(text, CleanOptions{}), "a\nb")
	is(t, "with", CleanText(text, CleanOptions{Sixel: true}), "a\n"+picture+"b")
	is(t, "a title before it does not swallow what follows",
		CleanText("\x1b]0;x"+picture+"b", CleanOptions{Sixel: true}), picture+"b")
	for _, not := range []string{
		"\x1bP1;1", "\x1bPqa\x07b\x1b\\", "\x1bPq\x1b[31m", "\x1bP\x1b\\", "\x1b\x1b", "\x1bPqé\x1b\\",
		"\x1bPq" + strings.Repeat("~", maxSixel) + "\x1b\\",
	} {
		if got := CleanText(not+"\x1b\\z", CleanOptions{Sixel: true}); strings.Contains(got, "\x1b") {
			t.Errorf("%.20q is taken for a picture: %.20q", not, got)
		}
	}
}

func TestR084_TheStripperKeepsItsState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		more := append([]string{"\x1b[31m", "\x1b", "[", "\x1b]0;t", "\x07", picture, picture[:9], "\x1bP", "q", "\x1b\\", "\u202e"}, pieces...)
		var in strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			in.WriteString(rapid.SampledFrom(more).Draw(t, "piece"))
		}
		o := CleanOptions{Final: rapid.Bool().Draw(t, "final"), Cols: rapid.IntRange(0, 9).Draw(t, "cols")}
		o.Sixel = !o.Final && rapid.Bool().Draw(t, "sixel")
		var out bytes.Buffer
		c := NewTextCleaner(&out, o)
		inPieces(t, in.String(), func(p []byte) { _, _ = c.Write(p) })
		_ = c.Close()
		if want := CleanText(in.String(), o); out.String() != want {
			t.Fatalf("%q in pieces is %q, whole %q", in.String(), out.String(), want)
		}
		clean(t, out.String(), o)
	})
}

// clean fails the test if a text has what it must not have.
func clean(t tester, s string, o CleanOptions) {
	t.Helper()
	if o.Sixel {
		var rest strings.Builder
		var in sixels
		in.split([]byte(s), func(p []byte) { rest.Write(p) }, func([]byte) {})
		in.end(func(p []byte) { rest.Write(p) })
		s = rest.String()
	}
	bad := func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0xfff9 && r <= 0xfffb
	}
	if i := strings.IndexFunc(s, bad); i >= 0 || !utf8.ValidString(s) {
		t.Fatal("not clean: " + s)
	}
}
