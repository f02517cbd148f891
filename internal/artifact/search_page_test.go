package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pages returns the text and the matches of a search over all its pages.
func pages(t tester, r *Reader, what string, o SearchOptions) (text string, matches, count int) {
	t.Helper()
	for from := (Place{Line: 1}); ; count++ {
		p, err := r.Search(context.Background(), what, from, o)
		p = must(t, p, err)
		text, matches = text+string(p.Text), matches+p.Matches
		if p.Done {
			return text, matches, count + 1
		}
		if p.Next.Offset < from.Offset || p.Next == from {
			t.Fatal("no progress from", from)
		}
		from = p.Next
	}
}

// grepped is what grep -n -C prints.
func grepped(s, what string, around int) (string, int) {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	re, found := regexp.MustCompile(what), map[int]bool{}
	for i, l := range lines {
		found[i] = re.MatchString(strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"))
	}
	var b strings.Builder
	shown, matches := -1, 0
	for i, l := range lines {
		near := false
		for k := i - around; k <= i+around; k++ {
			near = near || found[k]
		}
		if !near {
			continue
		}
		if around > 0 && shown >= 0 && shown != i-1 {
			b.WriteString("--\n")
		}
		mark := "-"
		if found[i] {
			mark = ":"
			matches++
		}
		shown = i
		fmt.Fprintf(&b, "%d%s%s\n", i+1, mark, strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"))
	}
	return b.String(), matches
}

// A search in pages shows what grep shows, however small its pages are.
func TestSearchInPagesIsGrep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "abc", "ab", "needle", "x needle", "abc\r", "zz zz"}), 0, 60).Draw(t, "lines"), "\n")
		what := rapid.SampledFrom([]string{"needle", "^ab", "b$", "^$", "a|z", "x.*e", "(?i)ABC", "q", "zz|needle", "(?i)NEEDLE|zz"}).Draw(t, "pattern")
		o := SearchOptions{Context: rapid.IntRange(0, 4).Draw(t, "context"), Bytes: rapid.SampledFrom([]int{8, 40, 1 << 20}).Draw(t, "bytes")}
		if rapid.Bool().Draw(t, "late") {
			o.Until = time.Unix(1, 0) // each page ends after its first chunk
		}
		text, matches, _ := pages(t, reader(s), what, o)
		want, found := grepped(s, what, o.Context)
		if text != want || matches != found {
			t.Fatalf("got %d:\n%s\nwant %d:\n%s", matches, text, found, want)
		}
	})
}

// The same over chunks: pages that end by their time keep the context of the next match.
func TestSearchGoesOnWithItsContext(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "line %d of a log\n", i)
		if i%9973 == 0 {
			b.WriteString("ERROR here\n")
		}
	}
	s := b.String()
	want, found := grepped(s, "ERROR", 3)
	for _, o := range []SearchOptions{{Context: 3, Bytes: 1 << 20, Until: time.Unix(1, 0)}, {Context: 3, Bytes: 200}, {Context: 3, Bytes: 1 << 20}} {
		text, matches, count := pages(t, reader(s), "ERROR", o)
		is(t, "matches", matches, found)
		is(t, "text", text == want, true)
		t.Log(count, "pages")
	}
}

func TestSearchBoundsLongLines(t *testing.T) {
	long := strings.Repeat("é", 400_000) + "needle" + strings.Repeat("w", 400_000) + "\n"
	text, matches, _ := pages(t, reader("a\n"+long+"needle\n"), "needle", SearchOptions{Bytes: 20_000})
	is(t, "matches", matches, 2)
	if len(text) > 12_000 || !strings.HasPrefix(text, "2:[... 79") || !strings.Contains(text, "éneedlew") || !strings.HasSuffix(text, " bytes]\n3:needle\n") {
		t.Errorf("%d bytes: %.80q", len(text), text)
	}
	text, _, _ = pages(t, reader(long), "^é+needle", SearchOptions{Bytes: 2000})
	if len(text) > 600 || !strings.HasPrefix(text, "1:éé") {
		t.Errorf("%d bytes: %.80q", len(text), text)
	}
}

func TestSearchSaysWhatItDoesNotKnow(t *testing.T) {
	page, err := reader("one\ntwo\nthree\n").Search(context.Background(), "t", Place{Offset: 4}, SearchOptions{Bytes: 100})
	is(t, "no numbers", string(must(t, page, err).Text), "?:two\n?:three\n")
	page, err = reader("\x1b[31mred\x1b[0m 10%\r20%\n").Search(context.Background(), "20", Place{Line: 1}, SearchOptions{Bytes: 100, Plain: true})
	is(t, "plain", string(must(t, page, err).Text), "1:red 10%\\r20%\n")
	page, err = reader("one\n\xff\n").Search(context.Background(), "\uFFFD", Place{Line: 1}, SearchOptions{Bytes: 100})
	is(t, "an invalid byte", string(must(t, page, err).Text), "2:\xff\n")
	page, err = reader("one\ntwo\n").Search(context.Background(), "w", Place{Line: 1}, SearchOptions{Bytes: 100, Label: func(off int64) []byte { return fmt.Appendf(nil, "%d ", off) }})
	is(t, "labels", string(must(t, page, err).Text), "2:4 two\n")
	for _, bad := range []string{"", "(", strings.Repeat("x", maxPattern+1)} {
		if _, err := reader("x").Search(context.Background(), bad, Place{}, SearchOptions{Bytes: 100}); err == nil {
			t.Errorf("%.10q is accepted", bad)
		}
	}
}

// A search ends with its context, within a chunk or a long line.
func TestSearchEndsWithItsContext(t *testing.T) {
	for _, line := range []string{"x\n", "x"} {
		ctx, cancel := context.WithCancel(context.Background())
		r := NewReader(&endless{line: []byte(line), at: 50 << 20, do: cancel}, 1<<50, ReaderOptions{})
		if _, err := r.Search(ctx, "needle", Place{Line: 1}, SearchOptions{Bytes: 100}); err != context.Canceled {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// endless is a file that repeats a line, and calls do once at is reached.
type endless struct {
	line []byte
	at   int64
	do   func()
}

func (e *endless) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], e.line[(off+int64(n))%int64(len(e.line)):]) {
	}
	if off >= e.at {
		e.do()
	}
	return len(p), nil
}

func TestPrefilter(t *testing.T) {
	for what, want := range map[string]string{
		"abc": "abc", "^ERROR: ": "ERROR: ", `\d+ failed`: " failed", "(foo|bar) baz": "foo baz|bar baz", "(?i)ERROR|warn": "error|warn", "(?i)abc": "abc", "(?i)tasks": "ta", "(?i)é": "", "a.|.": "", "ab|cd": "ab|cd", "(abc)+x": "abc", "(abc)*x": "x",
		"(abc){2}": "abc", "level=(error|fatal)": "level=error|level=fatal", "(?i)a(bx|cy)d": "abxd|acyd", "(aa|bb)(cc|dd)(ee|ff)(gg|hh)": "aaccee|aaccff|aaddee|aaddff|bbccee|bbccff|bbddee|bbddff", "a(?i)B": "ab", "x(?:(?i)S)y": "x", "x?": "", "\uFFFD": "", "[a]": "a",
	} {
		p, err := newPattern(what, true)
		texts := []string{}
		for _, text := range must(t, p, err).ahead.texts {
			texts = append(texts, string(text))
		}
		is(t, what, strings.Join(texts, "|"), want)
	}
}

// BenchmarkSearch searches 1 GiB of lines for patterns that do not occur in them.
func BenchmarkSearch(b *testing.B) {
	line := "2026-01-02T15:04:05.123Z level=info service=api msg=\"request served\" status=200 path=/v1/jobs\n"
	log := bytes.Repeat([]byte(line), 64<<20/len(line))
	size := int64(1 << 30)
	for _, what := range []string{"level=error", `level=(error|fatal)`, `status=5\d\d`, "(?i)ERROR", "panic|ERROR"} {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				r := NewReader(&repeated{log}, size, ReaderOptions{})
				if p, err := r.Search(context.Background(), what, Place{Line: 1}, SearchOptions{Bytes: 1 << 20, Context: 2}); err != nil || !p.Done || p.Matches > 0 {
					b.Fatal(err, p.Matches)
				}
			}
		})
	}
}

// repeated reads the same bytes again and again.
type repeated struct{ of []byte }

func (r *repeated) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], r.of[(off+int64(n))%int64(len(r.of)):]) {
	}
	return len(p), nil
}

var _ io.ReaderAt = (*repeated)(nil)
