package actors

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/messages"
)

func finderOf(t testing.TB, pattern string) *patternScanner {
	t.Helper()
	f, err := newPatternScanner(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return f
}

// pages feeds the pieces one after the other; the last one is the end.
func pages(f *patternScanner, pieces ...string) bool {
	at := int64(0)
	for i, p := range pieces {
		if f.page([]byte(p), at, nil, i < len(pieces)-1) {
			return true
		}
		at += int64(len(p))
	}
	return false
}

func TestPatternOverPages(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct {
		pattern string
		pieces  []string
		want    bool
	}{
		{`listening`, []string{"now listening on 80"}, true},
		{`listening`, []string{"now lis", "ten", "ing on 80"}, true},
		{`listening`, []string{"now lis", "\n", "tening"}, false},
		{`lis.*80`, []string{"listening", " on ", "80"}, true},
		{`lis.*80`, []string{"listening\n", "on 80"}, false},
		{`(?s)lis.*80`, []string{"listening\n", "on 80"}, true},
		{`a\nb`, []string{"a", "\n", "b"}, true},
		{`[^x]b`, []string{"\n", "b"}, true},
		{`é`, []string{"\xc3", "\xa9"}, true},
		{`(?i)READY`, []string{"re", "ady"}, true},
		{`x{3}y`, []string{long, "y"}, true},
		{`zx{3}`, []string{long, "y"}, false},
		{`^x`, []string{"ab\n", "x"}, false}, // the beginning of the stream, not of a page
		{`^ab`, []string{"a", "b"}, true},
		{`(?m)^x`, []string{"ab\n", "x"}, true},
		{`(?m)^x`, []string{"ab", "x"}, false},
		{`(?m)^x`, []string{long, long, "x"}, true}, // the very first one
		{`(?m)^y`, []string{long, long, "y"}, false},
		{`\bcat\b`, []string{"con", "cat"}, false},
		{`\bcat\b`, []string{"cat", "alogue"}, false},
		{`\bcat\b`, []string{"a cat", " sat"}, true},
		{`password: $`, []string{"pass", "word: "}, true}, // a prompt has no newline
		{`password: $`, []string{"password: ", "secret"}, false},
		{`x*`, []string{""}, true},
		{`(?m)^ready$`, []string{"so\r\nready\r\n"}, true}, // as a terminal ends its lines
		{`(?m)^ready$`, []string{"so\r", "\nready\r", "\n"}, true},
		{`(?m)^ready$`, []string{"ready\r", "or not\n"}, false},
		{`so\nready`, []string{"so\r", "\nready"}, true},
		{`ready\r\n`, []string{"ready\r", "\n"}, true},
		{`a.b`, []string{"a\r", "b"}, true},
	} {
		if got := pages(finderOf(t, c.pattern), c.pieces...); got != c.want {
			t.Errorf("%q in %.40q: %v, want %v", c.pattern, c.pieces, got, c.want)
		}
	}
}

// What was not kept matches nothing, and nothing matches over it.
func TestPatternOverGaps(t *testing.T) {
	gap := []messages.OutputGap{{From: 12, To: 15}}
	page := []byte("ab\x00\x00\x00cd")
	for _, c := range []struct {
		pattern string
		want    bool
	}{{`ab`, true}, {`cd`, true}, {`b.*c`, false}, {`\x00`, false}, {`^cd`, false}, {`(?m)^cd`, false}, {`bc`, false}} {
		if got := finderOf(t, c.pattern).page(page, 10, gap, false); got != c.want {
			t.Errorf("%q: %v, want %v", c.pattern, got, c.want)
		}
	}
	f := finderOf(t, `b.*c`)
	if f.page([]byte("ab"), 0, nil, true) || f.page(make([]byte, 8), 2, []messages.OutputGap{{From: 2, To: 10}}, true) || f.page([]byte("cd"), 10, nil, false) {
		t.Error("a match over a gap of a whole page")
	}
}

// A finder holds little, whatever the stream is.
func TestFaultPatternHoldsLittle(t *testing.T) {
	lines := strings.Repeat("a line of a log\n", 1000)
	for _, c := range []struct {
		pattern, text string
		most          int
	}{
		{`listening`, lines, 64},
		{`never.*here`, lines, 64},
		{`never.*here`, strings.Repeat("x", 300<<10), maxReach + 8},
		{`(?s)never.*here`, lines + strings.Repeat(lines, 10), maxReach + 8},
	} {
		f := finderOf(t, c.pattern)
		for range 3 {
			if f.feed([]byte(c.text), true) {
				t.Fatalf("%q matched", c.pattern)
			}
		}
		if len(f.held) > c.most || cap(f.held) > 2*c.most {
			t.Errorf("%q holds %d bytes, want at most %d", c.pattern, len(f.held), c.most)
		}
	}
}

func TestBadInputPatternRefused(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    messages.Code
	}{
		{"", messages.InvalidParams},
		{"(", messages.InvalidParams},
		{`(?=x)`, messages.InvalidParams},
		{strings.Repeat("x", messages.MaxPattern+1), messages.TooLarge},
	} {
		ask := messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: c.pattern}}
		if err := ask.Check(); err == nil || err.Code != c.want {
			t.Errorf("%.20q: %v, want %s", c.pattern, err, c.want)
		}
	}
}

// Pieces find what the whole would: for any text, however it is cut.
func TestPatternIsThatOfTheWhole(t *testing.T) {
	patterns := []string{
		`ab`, `a.b`, `(?s)a.b`, `a+b`, `a[^b]{2}b`, `^ab`, `(?m)^ab`, `ab$`, `(?m)b$`, `\bab\b`, `a\Bb`, `aab|bba`, `(?s)a.*b.*c`, `c\n`,
		`\n\n`, `[^a]c`, `^$`, `(?m)^$`, `(?m)^a?$`, `\Aa`, `c\z`, `a*b`, `(?i)AB`, `é|b`, `\s\s`, `(a|b)+c`, `a\r\n`, `(?m)^a\r$`,
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		pieces := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abc\r\n é")), 0, 12, -1), 1, 6).Draw(t, "pieces")
		f, _ := newPatternScanner(pattern)
		whole := strings.Join(pieces, "")
		if !strings.Contains(pattern, `\r`) {
			whole = strings.TrimSuffix(strings.ReplaceAll(whole, "\r\n", "\n"), "\r")
		}
		want := regexp.MustCompile(pattern).MatchString(whole)
		if got := pages(f, pieces...); got != want {
			t.Fatalf("%q in %q: %v, want %v", pattern, pieces, got, want)
		}
	})
}

func BenchmarkPattern(b *testing.B) {
	page := bytes.Repeat([]byte("a line of a log that says nothing of interest\n"), outputProbePage/46)
	for _, pattern := range []string{`listening on \d+`, `(error|warning|fatal): .*`} {
		b.Run(pattern, func(b *testing.B) {
			f := finderOf(b, pattern)
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				f.feed(page, true)
			}
		})
	}
}
