package artifact

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// counting is a reader that counts what is read.
type counting struct {
	io.ReaderAt
	bytes atomic.Int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.bytes.Add(int64(n))
	return n, err
}

// made is a huge file that is nowhere: each byte is a function of its place.
type made struct {
	size int64
	at   func(p []byte, off int64)
}

func (m made) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), max(0, m.size-off)))
	m.at(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func reader(s string) *Reader {
	return NewReader(strings.NewReader(s), int64(len(s)), ReaderOptions{})
}

// tester is a testing.TB or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func must[T any](t tester, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func page(t tester, r *Reader, offset int64, o PageOptions) Page {
	t.Helper()
	p, err := r.Page(context.Background(), offset, o)
	return must(t, p, err)
}

func texts(lines []Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Text)
	}
	return out
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	return string(must(t, b, err))
}

// is fails the test unless got is want.
func is[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// pieces are what the texts of properties are made of: whatever is hard to cut.
var pieces = []string{
	"a", "Z9 ", "\t", "\n", "\n", "\r\n", "\r", "\x00", "\xff", "\xe2\x82", "\x80", "é", "€", "漢字", "한글",
	"e\u0301", "👨\u200d👩\u200d👧", "🇩🇪🇫🇷", "🇩", "\u0301", "\u0600", "नी", "\u200d", "foo", "bar\nfoo", "🏽",
}

// anyText draws a text of up to n pieces; some of them end near the end of a chunk.
func anyText(t *rapid.T, n int) string {
	var b strings.Builder
	for range rapid.IntRange(0, n).Draw(t, "pieces") {
		switch rapid.IntRange(0, 60).Draw(t, "kind") {
		case 0:
			fill := chunk - rapid.IntRange(0, 5).Draw(t, "short of a chunk") - b.Len()%chunk
			b.WriteString(strings.Repeat("x", max(0, fill)))
		case 1:
			b.WriteString(strings.Repeat("€", rapid.IntRange(0, 700).Draw(t, "euros")))
		default:
			b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
		}
	}
	return b.String()
}

// inPieces cuts a text at places that are drawn.
func inPieces(t *rapid.T, s string, each func(p []byte)) {
	for len(s) > 0 {
		n := rapid.IntRange(1, len(s)).Draw(t, "length")
		if rapid.Bool().Draw(t, "short") {
			n = min(n, rapid.IntRange(1, 7).Draw(t, "few"))
		}
		each([]byte(s[:n]))
		s = s[n:]
	}
}
