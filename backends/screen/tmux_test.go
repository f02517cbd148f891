package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
	"troupe/messages"
)

// tmux is a terminal multiplexer of the test's own.
type tmux struct {
	t      *testing.T
	socket string
}

func newTmux(t *testing.T) *tmux {
	need.Program(t, "tmux")
	m := &tmux{t: t, socket: filepath.Join(t.TempDir(), "s")}
	t.Cleanup(func() { _ = m.command("kill-server").Run() })
	m.run("new-session", "-d", "-s", "stays", "cat")
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", m.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	return cmd
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	require.NoError(m.t, err, "%v: %s", args, out)
	return string(out)
}

// show is what tmux shows of some bytes. That it has drawn them it says itself, by
// answering a question behind them.
func (m *tmux) show(size messages.Terminal, in []byte) (lines []string, at Cursor) {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "in")
	require.NoError(m.t, os.WriteFile(file, in, 0o600))
	script := fmt.Sprintf(`stty raw -echo; cat '%s'; printf '\033[6n'; IFS= read -rs -d R; tmux -S '%s' wait-for -S drawn; read -rs -d Q`, file, m.socket)
	m.run("new-session", "-d", "-s", "x", "-x", fmt.Sprint(size.Cols), "-y", fmt.Sprint(size.Rows), "bash", "-c", script,
		";", "set", "-g", "status", "off", ";", "resize-window", "-t", "x", "-x", fmt.Sprint(size.Cols), "-y", fmt.Sprint(size.Rows))
	m.run("wait-for", "drawn")
	text := m.run("capture-pane", "-p", "-t", "x")
	var flag int
	_, err := fmt.Sscanf(m.run("display", "-p", "-t", "x", "#{cursor_x} #{cursor_y} #{cursor_flag}"), "%d %d %d", &at.Col, &at.Row, &flag)
	require.NoError(m.t, err)
	m.run("kill-session", "-t", "x")
	at.Visible, at.Col = flag == 1, min(at.Col, size.Cols-1)
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	for len(lines) < size.Rows {
		lines = append(lines, "")
	}
	return lines, at
}

// corpus are sequences that programs send, each with something around it from which
// it can be seen what it did.
var corpus = map[string]string{
	"text":            "one\r\ntwo\r\n\tthree",
	"wrap":            strings.Repeat("0123456789", 5) + "|",
	"wrap pending":    strings.Repeat("x", 40) + "\r\ny",
	"wrap and back":   strings.Repeat("x", 40) + "\by",
	"scroll":          lines(30),
	"no wrap":         "\x1b[?7l" + strings.Repeat("0123456789", 5) + "|\x1b[?7h",
	"bs":              "abc\b\bX",
	"cr":              "progress 10%\rprogress 20%",
	"vt ff":           "a\vb\fc",
	"tabs":            "\ta\tb\x1b[3g\tc\r\x1b[5C\x1bH\r\td",
	"cht":             "\x1b[2Ia",
	"cbt":             "\t\ta\x1b[Zb\x1b[9Zc",
	"cup":             "\x1b[3;5Ha\x1b[Hb\x1b[99;99Hc\x1b[0;0fd",
	"cuu cud":         "\x1b[5;5H\x1b[2Aa\x1b[Bb\x1b[3Cc\x1b[2Dd\x1b[0Ae",
	"cnl cpl":         "abc\x1b[2Ed\x1b[Fe\x1b[20Gf",
	"hpa vpa":         "\x1b[7`a\x1b[4db",
	"hpr vpr":         "\x1b[2ac\x1b[2ed",
	"ed 0":            lines(8) + "\x1b[4;3H\x1b[J",
	"ed 1":            lines(8) + "\x1b[4;3H\x1b[1J",
	"ed 2":            lines(8) + "\x1b[4;3H\x1b[2Jx",
	"ed 3":            lines(8) + "\x1b[3Jx",
	"el":              "abcdefgh\x1b[4D\x1b[K\r\nabcdefgh\x1b[4D\x1b[1K\r\nabcdefgh\x1b[2Kx",
	"ich dch ech":     "abcdefgh\r\x1b[2C\x1b[2@\r\nabcdefgh\r\x1b[2C\x1b[3P\r\nabcdefgh\r\x1b[2C\x1b[3X",
	"il dl":           lines(8) + "\x1b[3;1H\x1b[2L\x1b[6;1H\x1b[M",
	"su sd":           lines(8) + "\x1b[2S\x1b[1T",
	"region":          lines(8) + "\x1b[3;6r\x1b[6;1H\n\n\nx\x1b[3;1H\x1bM\x1bMy\x1b[r",
	"region odd":      lines(8) + "\x1b[6;3r\x1b[2;99r\x1b[0;0rx",
	"origin":          "\x1b[3;6r\x1b[?6h\x1b[1;1Ha\x1b[9;1Hb\x1b[?6l\x1b[1;1Hc",
	"origin at once":  lines(8) + "\x1b[3;6r\x1b[5;5H\x1b[?6hx",
	"origin gone":     lines(8) + "\x1b[3;6r\x1b[5;5H\x1b[?6h\n\x1b[?6lx",
	"origin and cr":   lines(8) + "\x1b[3;6r\x1b[?6h\x1b[2;9Ha\rb\x1b[3dc\x1b[9`d\x1b[Ee\x1bEf\x1b[2Fg",
	"origin saved":    "\x1b[3;6r\x1b[?6h\x1b[2;9H\x1b7\x1b[?6l\x1b8\x1b[1;1Hx",
	"ri at top":       lines(4) + "\x1b[H\x1bMtop",
	"ind nel":         "ab\x1bDc\x1bEd",
	"save restore":    "ab\x1b7\x1b[5;5Hc\x1b8d\x1b[s\x1b[9;9He\x1b[uf",
	"save full line":  strings.Repeat("x", 40) + "\x1b[2;2H\x1b7\x1b[1;40Hz\x1b8y",
	"rep":             "ab\x1b[5bc",
	"rep too often":   "ab\x1b[99999999bc",
	"cht too often":   "ab\x1b[99999999Ic",
	"insert":          "abcdef\r\x1b[4hXY\x1b[4lZ",
	"insert wraps":    "abcdef\r\x1b[4h" + strings.Repeat("0123456789", 5) + "|\x1b[4lZ",
	"insert at full":  "\r\n\r\nnext\x1b[H" + strings.Repeat("x", 40) + "\x1b[4hYZ\u00e9",
	"insert at end":   lines(11) + strings.Repeat("x", 40) + "\x1b[4hYZ\x1b[4l",
	"insert no wrap":  "\x1b[?7l" + strings.Repeat("x", 40) + "\x1b[4hYZ\x1b[?7h",
	"saved sets":      "\x1b7\x1b)0\x0e\x1b8qq",
	"alternate":       "main\x1b[?1049halt\x1b[2;2Hx\x1b[?1049lback",
	"alternate stays": "main\x1b[?1049h\x1b[Halt\r\nsecond",
	"alternate 47":    "main\x1b[?47h\x1b[Halt\x1b[?47lback",
	"hidden":          "a\x1b[?25lb",
	"shown":           "a\x1b[?25lb\x1b[?25h",
	"colours":         "\x1b[1;31mred\x1b[0m \x1b[38;5;200mx\x1b[48:2::1:2:3my\x1b[m\x1b[>4;2mz",
	"graphics":        "\x1b(0lqqk\x1b(Bx\r\n\x1b)0\x0elqk\x0fq",
	"wide":            "漢字\r\n" + strings.Repeat("a", 39) + "漢b",
	"wide cut":        "漢字\r\x1b[Cx",
	"combining":       "e\u0301a\u0308\u0323z",
	"title":           "a\x1b]0;title\x07b\x1b]2;t\u271cx\x1b\\c",
	"links":           "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\.",
	"strings":         "a\x1bPq#0\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d",
	"aborted":         "a\x1b[31\x18b\x1b[3\x1b[2Cc",
	"control inside":  "a\x1b[\r3Cb",
	"private":         "a\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[22;0;0t\x1b[>1u\x1b[<u\x1b[!pb",
	"unknown":         "a\x1b[?99999hb\x1b[5;6;7yc\x1b#3d\x1b%Ge",
	"reset":           lines(5) + "\x1bcx",
	"del and nul":     "a\x7f\x00b",
	"many numbers":    "\x1b[" + strings.Repeat("1;", 20) + "1mx",
	"invalid utf-8":   "a\xc3(b\xe2\x82c\xff.",
}

// deviations are what tmux does otherwise, and why we do not.
var deviations = map[string]string{
	"wrap and back": "tmux goes back to the last column, we and xterm to the one before",
	"wide cut":      "tmux leaves the half of a wide character, we and xterm blank it",
	"graphics":      "tmux tells the letters that stand for lines, we tell the lines",
	"cht":           "tmux has no CHT",
	"cht too often": "tmux has no CHT",
	"hpr vpr":       "tmux has neither",
	"invalid utf-8": "tmux leaves it out, we show U+FFFD (R-084)",
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\r\n", i+1)
	}
	return b.String()
}

func TestScreenShowsWhatTmuxShows(t *testing.T) {
	m := newTmux(t)
	size := messages.Terminal{Rows: 12, Cols: 40}
	for name, in := range corpus {
		t.Run(name, func(t *testing.T) {
			m.t = t
			want, at := m.show(size, []byte(in))
			s := New(size, 0)
			_, _ = s.Write([]byte(in))
			same := strings.Join(want, "\n") == strings.Join(s.Text(), "\n") && at == s.Cursor()
			if why, known := deviations[name]; known {
				require.False(t, same, "no deviation any more: %s", why)
				return
			}
			require.Equal(t, strings.Join(want, "\n"), strings.Join(s.Text(), "\n"))
			require.Equal(t, at, s.Cursor())
		})
	}
}

// Programs of many sequences show the same, too: what one leaves behind is where the
// next one begins.
const mixtures = 40

func TestScreenShowsWhatTmuxShowsOfMixtures(t *testing.T) {
	m := newTmux(t)
	size := messages.Terminal{Rows: 12, Cols: 40}
	n := uint64(mixtures)
	if need.Soak() {
		n *= 25
	}
	for seed := range n {
		in := mixture(rand.New(rand.NewPCG(seed, 1)), 60)
		want, at := m.show(size, []byte(in))
		s := New(size, 0)
		_, _ = s.Write([]byte(in))
		require.Equal(t, strings.Join(want, "\n"), strings.Join(s.Text(), "\n"), "seed %d: %q", seed, in)
		require.Equal(t, at, s.Cursor(), "seed %d: %q", seed, in)
	}
}

// mixture is a program of n sequences.
func mixture(r *rand.Rand, n int) string {
	var b strings.Builder
	alt := 0
	number := func(most int) int { return 1 + r.IntN(most) }
	for range n {
		switch r.IntN(26) {
		case 0, 1, 2, 3:
			b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), number(12)))
		case 4:
			b.WriteString("\r\n")
		case 5:
			b.WriteString("\n\r")
		case 6, 7, 8:
			fmt.Fprintf(&b, "\x1b[%d;%dH", number(13), number(41))
		case 9:
			fmt.Fprintf(&b, "\x1b[%d%c", number(5), "ABCD"[r.IntN(4)])
		case 10:
			fmt.Fprintf(&b, "\x1b[%dJ", r.IntN(3))
		case 11:
			fmt.Fprintf(&b, "\x1b[%dK", r.IntN(3))
		case 12, 13:
			b.WriteString([]string{"", "\r"}[r.IntN(2)])
			fmt.Fprintf(&b, "\x1b[%d%c", number(4), "STP@X"[r.IntN(5)])
		case 14:
			top := number(8)
			fmt.Fprintf(&b, "\x1b[%d;%dr\x1b[%dB\r", top, top+number(4), number(4))
		case 24: // at the left and inside the region only: elsewhere tmux has it otherwise than xterm
			top := number(8)
			fmt.Fprintf(&b, "\x1b[%d;%dr\x1b[%d;1H\x1b[%d%c", top, top+number(4), top+r.IntN(2), number(4), "LM"[r.IntN(2)])
		case 15:
			b.WriteString("\x1b[r")
		case 16:
			b.WriteString("\x1bM")
		case 17:
			b.WriteString("\x1b7")
		case 18:
			b.WriteString("\x1b8")
		case 19:
			b.WriteString("\t")
		case 20:
			fmt.Fprintf(&b, "\x1b[%d%c", number(12), "Gd"[r.IntN(2)])
		case 21:
			fmt.Fprintf(&b, "\x1b[?%d%c", []int{7, 25}[r.IntN(2)], "hl"[r.IntN(2)])
		case 25:
			fmt.Fprintf(&b, "\x1b[?1049%c\x1b7", "hl"[alt]) // either screen has a saved cursor, of which tmux has one
			alt = 1 - alt
		case 22:
			b.WriteString("\x1bE")
		case 23:
			fmt.Fprintf(&b, "\x1b[%d;%dHe\u0301漢", number(12), number(36))
		}
	}
	return b.String()
}

// Of a long log only the modes are taken from all but its end: they are those that drawing
// it leaves behind.
func TestSkimKnowsTheModes(t *testing.T) {
	seeds := uint64(300)
	if need.Soak() {
		seeds = 2000
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		for range 30 {
			b.WriteString([]string{
				"\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[?1048h", "\x1b[?1048l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?1047l",
				"\x1b[?6h", "\x1b[?6l", "\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\x1b[4h", "\x1b[!p", "\x1bc", "text",
			}[r.IntN(21)])
		}
		drawn, skimmed := newEmulator(small, 0), &modeSink{}
		_, _ = drawn.Write([]byte(b.String()))
		skimmed.modes.reset()
		s := sequenceParser{to: skimmed}
		s.take([]byte(b.String()))
		require.Equal(t, drawn.modes, skimmed.modes, "seed %d: %q", seed, b.String())
	}
}
