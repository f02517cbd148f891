package spill

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bytesLog is a log of bytes that are all there, but for gaps.
type bytesLog struct {
	*bytes.Reader
	gaps []Gap
}

func (b bytesLog) State() State { return State{Size: b.Size(), Gaps: b.gaps} }
func (b bytesLog) Close() error { return nil }

func logOf(s string, gaps ...Gap) Log { return bytesLog{bytes.NewReader([]byte(s)), gaps} }

func TestLinesCount(t *testing.T) {
	for _, c := range []struct {
		log   Log
		lines int64
		exact bool
	}{
		{logOf(""), 0, true},
		{logOf("a"), 1, true},
		{logOf("a\n"), 1, true},
		{logOf("a\nb"), 2, true}, // an unterminated last line counts
		{logOf("\n\n"), 2, true},
		{logOf("a\n..\nb\n", Gap{2, 4}), 3, false},
		{logOf("a\n....", Gap{2, 6}), 2, false},
	} {
		for _, step := range []int64{1, 3, 1 << 20} {
			var l LineIndex
			for more := true; more; {
				var err error
				more, err = l.Advance(c.log, step)
				must(t, err)
			}
			if n, exact := l.Count(); n != c.lines || exact != c.exact {
				t.Errorf("in steps of %d: %d lines (exact %v), want %d (%v)", step, n, exact, c.lines, c.exact)
			}
		}
	}
}

// A log that grows is counted where it was left, and every mark is a line.
func TestLinesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "x", "\n", "long line\n", strings.Repeat("y", 5000), strings.Repeat("z\n", 3000)}), 0, 40).Draw(t, "parts"), "")
		var l LineIndex
		for n := 0; n < len(s); {
			n = min(len(s), n+rapid.IntRange(1, 100_000).Draw(t, "grown"))
			for more := true; more; {
				var err error
				if more, err = l.Advance(logOf(s[:n]), 7000); err != nil {
					t.Fatal(err)
				}
			}
			want := int64(strings.Count(s[:n], "\n"))
			if !strings.HasSuffix(s[:n], "\n") {
				want++
			}
			if got, exact := l.Count(); got != want || !exact || l.Seen() != int64(n) {
				t.Fatalf("%d lines (%v), want %d", got, exact, want)
			}
		}
		checkMarks(t, &l, s)
	})
}

func checkMarks(t interface{ Fatalf(string, ...any) }, l *LineIndex, s string) {
	if len(l.marks) > maxMarks {
		t.Fatalf("%d marks", len(l.marks))
	}
	line, off := int64(1), 0
	for _, m := range l.marks {
		line += int64(strings.Count(s[off:m.Offset], "\n"))
		off = int(m.Offset)
		if line != m.Line || s[off-1] != '\n' {
			t.Fatalf("%+v is no beginning of line %d", m, line)
		}
		if l.Before(m.Line) != m || l.After(m.Offset) != m {
			t.Fatalf("%+v is not found", m)
		}
	}
}

// The index is small whatever the log is, and its marks are never far apart.
func TestFaultLinesIndexIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintln(&b, i)
	}
	b.WriteString(strings.Repeat("w", 3<<20) + "\n")
	for i := range 100_000 {
		fmt.Fprintln(&b, i)
	}
	var l LineIndex
	_, err := l.Advance(logOf(b.String()), 1<<30)
	must(t, err)
	checkMarks(t, &l, b.String())
	if len(l.marks) < maxMarks/4 {
		t.Errorf("only %d marks", len(l.marks))
	}
	for i := 1; i < len(l.marks); i++ {
		a, b := l.marks[i-1], l.marks[i]
		if b.Line-a.Line > l.lineStride || b.Line-a.Line > 1 && b.Offset-a.Offset > 2*max(l.byteStride, linesChunk) {
			t.Fatalf("the marks %+v and %+v are too far apart", a, b)
		}
	}
}

// failing fails every read.
type failing struct{ Log }

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestLinesTellsAnError(t *testing.T) {
	var l LineIndex
	if _, err := l.Advance(failing{logOf("a\n")}, 10); err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
}
