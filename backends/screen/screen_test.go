package screen

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// New makes a blank screen that keeps so many lines of what scrolls out of it.
func New(size messages.Terminal, scrollback int) *emulator { return newEmulator(size, scrollback) }

var small = messages.Terminal{Rows: 6, Cols: 20}

func shown(s *emulator) string { return strings.TrimRight(strings.Join(s.Text(), "\n"), "\n") }

func drawn(t testing.TB, size messages.Terminal, in ...string) *emulator {
	t.Helper()
	s := New(size, 0)
	for _, p := range in {
		n, err := s.Write([]byte(p))
		require.NoError(t, err)
		require.Equal(t, len(p), n)
	}
	return s
}

func TestScreenDrawsLinesAsLines(t *testing.T) {
	require.Equal(t, "┌──┐x\n┌─┐q", shown(drawn(t, small, "\x1b(0lqqk\x1b(Bx\r\n\x1b)0\x0elqk\x0fq")))
}

func TestScreenMovesAsXtermDoes(t *testing.T) { // where tmux does not
	require.Equal(t, strings.Repeat("x", 18)+"yx", shown(drawn(t, small, strings.Repeat("x", 20)+"\by")))
	require.Equal(t, " x字", shown(drawn(t, small, "漢字\r\x1b[Cx")))
	require.Equal(t, "                a", shown(drawn(t, small, "\x1b[2Ia")))
	require.Equal(t, "  a\n\n    b", shown(drawn(t, small, "\x1b[2aa\x1b[2e\x1b[ab")))
}

func TestScreenTellsItsState(t *testing.T) {
	s := drawn(t, small, "main\x1b]0;a title\x07\x1b[?1h\x1b=\x1b[?2004h\x1b[>5u")
	require.Equal(t, messages.KeyModes{Cursor: true, Keypad: true, Paste: true, Kitty: 5}, s.Keys())
	require.Equal(t, "a title", s.Title())
	require.False(t, s.Alt())
	require.Equal(t, Cursor{Col: 4, Visible: true}, s.Cursor())

	_, _ = s.Write([]byte("\x1b[?1049h\x1b[?25l\x1b>\x1b[?1l\x1b[?2004l\x1b[Hedit"))
	require.True(t, s.Alt())
	require.Equal(t, messages.KeyModes{}, s.Keys(), "either screen has kitty flags of its own")
	require.Equal(t, Cursor{Col: 4}, s.Cursor())
	require.Equal(t, "edit", shown(s))

	_, _ = s.Write([]byte("\x1b[?1049l\x1b[<u"))
	require.Equal(t, "main", shown(s))
	require.Zero(t, s.Keys().Kitty)
}

func TestSecurityTitleActsOnNoTerminal(t *testing.T) {
	s := drawn(t, small, "\x1b]2;a\u202eb\x9b31mc\u2028d\u271c"+strings.Repeat("x", 1000)+"\x1b\\")
	require.True(t, strings.HasPrefix(s.Title(), "ab\uFFFD31mcd\u271cx"), "%q", s.Title())
	require.LessOrEqual(t, utf8.RuneCountInString(s.Title()), maxTitle)
	require.Empty(t, drawn(t, small, "\x1b]2;"+strings.Repeat("x", maxOSC+1)+"\x07").Title(), "more than a title has")
}

func TestScreenResizes(t *testing.T) {
	s := drawn(t, small, lines(10)+"last")
	s.Resize(messages.Terminal{Rows: 3, Cols: 6})
	require.Equal(t, "line 9\nline 1\nlast", strings.Join(s.Text(), "\n"), "the line of the cursor stays")
	require.Equal(t, Cursor{Row: 2, Col: 4, Visible: true}, s.Cursor())
	s.Resize(messages.Terminal{Rows: 9999, Cols: 9999})
	require.Equal(t, messages.Terminal{Rows: MaxRows, Cols: MaxCols}, s.Size())
	require.Len(t, s.Text(), MaxRows)
	s.Resize(messages.Terminal{})
	require.Equal(t, messages.Terminal{Rows: 24, Cols: 80}, s.Size(), "nobody knows it")
}

func TestScreenKeepsWhatScrollsOut(t *testing.T) {
	s := New(small, 4)
	_, _ = s.Write([]byte(lines(12)))
	require.Equal(t, []string{"line 4", "line 5", "line 6", "line 7"}, s.Scrollback())
	_, _ = s.Write([]byte("\x1b[3J"))
	require.Empty(t, s.Scrollback())
	require.Contains(t, shown(s), "line 12", "xterm clears the screen no more than that")
}

// Every question has its answer, once, with the byte it ends with.
func TestScreenAnswers(t *testing.T) {
	const before = "\x1b[3;4H"
	for question, answer := range map[string]string{
		"\x1b[c":             "\x1b[?62;1;6;22c",
		"\x1b[0c":            "\x1b[?62;1;6;22c",
		"\x1b[>c":            "\x1b[>1;10;0c",
		"\x1b[5n":            "\x1b[0n",
		"\x1b[6n":            "\x1b[3;4R",
		"\x1b[?6n":           "\x1b[?3;4R",
		"\x1b[?2004$p":       "\x1b[?2004;2$y",
		"\x1b[?7$p":          "\x1b[?7;1$y",
		"\x1b[?4711$p":       "\x1b[?4711;0$y",
		"\x1b[4$p":           "\x1b[4;2$y",
		"\x1b]10;?\x07":      "\x1b]10;rgb:ffff/ffff/ffff\a",
		"\x1b]11;?\x1b\\":    "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b[?u":            "", // the kitty protocol: not answered, so not used
		"\x1b[>q":            "",
		"\x1b]52;c;?\x07":    "",
		"\x1bP$qm\x1b\\":     "",
		"\x1b[18t\x1b[21t":   "",
		"\x1b[1c\x1b[99n":    "",
		"\x1b[?2048h\x1b[8n": "",
		"\x1bZ\x05":          "",
	} {
		s := drawn(t, messages.Terminal{Rows: 24, Cols: 80}, before, question, "behind")
		if answer == "" {
			require.Empty(t, s.Replies(0), "%q", question)
			continue
		}
		at := int64(len(before) + len(question))
		if strings.HasSuffix(question, "\x1b\\") {
			at-- // ESC ends it
		}
		require.Equal(t, []Reply{{At: at, Data: []byte(answer)}}, s.Replies(0), "%q", question)
		require.Empty(t, s.Replies(at))
	}
}

func TestScreenAnswersAreBounded(t *testing.T) {
	s := drawn(t, small, strings.Repeat("\x1b[6n", 10_000))
	require.Len(t, s.Replies(0), maxReplies)
	require.Equal(t, int64(40_000), s.Replies(0)[maxReplies-1].At)
}

// The library's own answers have nobody who reads them: it must not wait for that.
func TestScreenCannotBlock(t *testing.T) {
	s := newEmulator(small, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.vt.WriteString("\x1b[c\x1b[6n\x1b[?2048h\x1b]11;?\x07x")
		s.vt.Resize(30, 30)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the emulator waits for a reader")
	}
	require.Equal(t, "x", s.vt.CellAt(0, 0).Content)
}

// What is made to hang or to fill the memory of an emulator does neither.
func TestScreenSurvivesHostileOutput(t *testing.T) {
	for name, in := range map[string]string{
		"rep":            strings.Repeat("a\x1b[99999999b", 1000),
		"cht":            strings.Repeat("\r\x1b[99999999I", 1000),
		"cbt":            strings.Repeat("\x1b[99999999Z", 1000),
		"huge numbers":   strings.Repeat("\x1b[99999999999999999999999999;18446744073709551617H\x1b[9223372036854775808A", 1000),
		"scroll":         strings.Repeat("\x1b[99999999S\x1b[99999999T", 300),
		"insert lines":   strings.Repeat("\x1b[99999999L\x1b[99999999M", 300),
		"insert":         strings.Repeat("\x1b[99999999@\x1b[99999999P\x1b[99999999X", 300),
		"osc":            "\x1b]0;" + strings.Repeat("x", 1<<20) + "\x07",
		"osc no end":     "\x1b]52;c;" + strings.Repeat("x", 1<<20),
		"dcs":            "\x1bPq" + strings.Repeat("#0~", 1<<18) + "\x1b\\",
		"apc":            "\x1b_G" + strings.Repeat("x", 1<<20),
		"csi no end":     "\x1b[" + strings.Repeat("1;", 1<<18),
		"esc":            strings.Repeat("\x1b", 1<<18),
		"margins":        strings.Repeat("\x1b[5;99999r\x1b[99999;5r\x1b[0;0r\x1b[?69h\x1b[3;4s\n", 1000),
		"marks":          "a" + strings.Repeat("\u0301", 1<<17),
		"joiners":        "👩" + strings.Repeat("\u200d👩", 1<<15),
		"modes":          modesOf(50_000),
		"kitty":          strings.Repeat("\x1b[>1u", 50_000),
		"newlines":       strings.Repeat("\n", 1<<14),
		"links":          strings.Repeat("\x1b]8;;http://"+strings.Repeat("x", 4000)+"\x07x", 200),
		"utf-8 cut":      strings.Repeat("\xf0\x9f\x92", 1<<14),
		"alternate":      strings.Repeat("\x1b[?1049h\x1b[?1049l", 2000),
		"alternate full": "\x1b[?1049h" + strings.Repeat(strings.Repeat("x", 120)+"\r\n", 5000),
		"reset":          strings.Repeat("x\x1bc", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			before := memory()
			s := drawn(t, messages.Terminal{Rows: 40, Cols: 120}, in)
			require.Len(t, s.Text(), 40)
			require.Less(t, memory()-before, int64(12<<20), "bytes of memory")
			_, _ = s.Write([]byte("\x18\x1b\\\x07\x1bcalive"))
			require.Equal(t, "alive", shown(s))
			runtime.KeepAlive(s)
		})
	}
}

func modesOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\x1b[?%dh\x1b[%dh", i, i)
	}
	return b.String() + "\x1b[?1049l"
}

// memory is what is in use.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // a size
}

// worked is how long this process has had a processor: how busy the machine is does not
// count.
func worked(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A flood of lines costs what is seen of it. Bounds are ten times the figure.
func TestScreenSkipsWhatScrollsBy(t *testing.T) {
	in := bytes.Repeat([]byte("\x1b[32my\x1b[m\x1b[K\r\n"), 200_000)
	s := New(messages.Terminal{Rows: 40, Cols: 120}, 0)
	began := worked(t)
	_, _ = s.Write(in)
	require.Less(t, worked(t)-began, 3*time.Second)
	require.Equal(t, strings.Repeat("y\n", 38)+"y", shown(s))
	require.Equal(t, 39, s.Cursor().Row)
}

// FuzzScreen: whatever is written, a screen has its size, holds no control character,
// and is the same however the bytes arrive.
func FuzzScreen(f *testing.F) {
	for _, in := range corpus {
		f.Add([]byte(in), uint8(3), uint8(12), uint8(40))
	}
	f.Add([]byte(strings.Repeat("x\r\n", 60)+"\x1b[6n\x1b[?1049hy"), uint8(5), uint8(3), uint8(1))
	f.Add([]byte("\U0001F468\u200d\U0001F469 e\u0301\U0001F1E9\U0001F1EA\xe2\x82"), uint8(1), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, p []byte, step, rows, cols uint8) {
		size := messages.Terminal{Rows: 1 + int(rows)%50, Cols: 1 + int(cols)%100}
		whole, pieces := New(size, 3), New(size, 3)
		_, _ = whole.Write(p)
		for i, n := 0, int(step)%9+1; i < len(p); i += n {
			_, _ = pieces.Write(p[i:min(len(p), i+n)])
		}
		require.Equal(t, whole.Text(), pieces.Text())
		require.Equal(t, whole.Cursor(), pieces.Cursor())
		require.Equal(t, whole.Replies(0), pieces.Replies(0))
		require.Equal(t, []any{whole.Title(), whole.Keys(), whole.Alt()}, []any{pieces.Title(), pieces.Keys(), pieces.Alt()})
		require.Len(t, whole.Text(), size.Rows)
		at := whole.Cursor()
		require.True(t, at.Row >= 0 && at.Row < size.Rows && at.Col >= 0 && at.Col < size.Cols, "%v of %v", at, size)
		for _, line := range append(whole.Text(), whole.Title()) {
			require.True(t, utf8.ValidString(line))
			require.Less(t, strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }), 0, "%q", line)
		}
	})
}

// Another terminal is made one of the same modes by what is told it, and is as it was when
// that is taken back.
func TestScreenModesAreReplayed(t *testing.T) {
	for in, want := range map[string]string{
		"text\x1b[31mred\x1b[2;4r":                                      "",
		"\x1b[?1h\x1b=\x1b[?2004h":                                      "\x1b[?1h\x1b[?2004h\x1b=",
		"\x1b[?1000;1002;1006h":                                         "\x1b[?1000h\x1b[?1002h\x1b[?1006h",
		"\x1b[?1004h\x1b[?1016h\x1b[?2031h":                             "\x1b[?1004h\x1b[?1016h\x1b[?2031h",
		"\x1b[?1003h\x1b[?1003l":                                        "",
		"\x1b[>4;2m\x1b[4 q":                                            "\x1b[>4;2m\x1b[4 q",
		"\x1b[>4;2m\x1b[>4m\x1b[4 q\x1b[0 q":                            "",
		"\x1b[>4;1m\x1b[>m\x1b[2 q\x1bc":                                "",
		"\x1b[?25l\x1b[?7l":                                             "\x1b[?7l\x1b[?25l",
		"\x1b[>1u\x1b[?1049h\x1b[>5u":                                   "\x1b[=1u\x1b[?1049h\x1b[H\x1b[2J\x1b[=5u",
		"\x1b[>1u\x1b[?47h":                                             "\x1b[=1u\x1b[?1049h\x1b[H\x1b[2J",
		"\x1b[?1049h\x1b[?1000h\x1b[?1049l":                             "\x1b[?1000h",
		"\x1b[?1000h\x1b[?2004h\x1b[?1h\x1b[>4;2m\x1b[?25l\x1b=\x1b[!p": "\x1b[?1000h\x1b[?2004h\x1b[>4;2m",
		"\x1b[?2026h\x1b[?69h\x1b[?9999h":                               "",
	} {
		s := drawn(t, small, in)
		require.Equal(t, want, s.Modes(), "%q", in)
		require.Equal(t, want, drawn(t, small, want).Modes(), "%q", in)
		changes := &ModeTracker{}
		_ = changes.Write([]byte(want))
		back := drawn(t, small, want, changes.Now().Undo(small.Rows))
		require.Empty(t, back.Modes(), "%q is not taken back", want)
	}
}

// Scrollback returns the lines that scrolled out at the top, oldest first.
func (t *emulator) Scrollback() []string {
	t.flushAll()
	kept := t.vt.Scrollback()
	lines := make([]string, kept.Len())
	for y := range lines {
		cells := kept.Line(y)
		lines[y] = line(len(cells), func(x int) *uv.Cell { return &cells[x] })
	}
	return lines
}
