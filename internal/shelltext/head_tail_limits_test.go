package shelltext

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// taken is what SplitLimits makes of a text, in one line.
func taken(text string) string {
	l, ok := SplitLimits(text)
	if !ok {
		if l.Command != text || l.Pipe != "" || l.Head+l.Tail != 0 {
			return fmt.Sprintf("%q became %+v", text, l)
		}
		return "-"
	}
	return fmt.Sprintf("%s h%d t%d", l.Command, l.Head, l.Tail)
}

func takes(t *testing.T, table map[string]string) {
	t.Helper()
	for text, want := range table {
		assert.Equal(t, want, taken(text), "%q", text)
	}
}

func TestR015_OneTrailingLimitIsTaken(t *testing.T) {
	takes(t, map[string]string{
		"ls | head -n 5":                  "ls h5 t0",
		"ls | head -5":                    "ls h5 t0",
		"ls | tail -n 7":                  "ls h0 t7",
		"ls | tail -7":                    "ls h0 t7",
		" \n ls  -l   'a  b' |tail -7 \n": "ls  -l   'a  b' h0 t7",
		"ls -l":                           "-",
		"  ls  ":                          "-",
		"":                                "-",
	})
}

func TestR016_TheGrammarOfALimit(t *testing.T) {
	takes(t, map[string]string{
		"ls | head -n50":            "ls h50 t0",
		"ls|head -50":               "ls h50 t0",
		"ls |\n  head -50":          "ls h50 t0",
		"ls | head":                 "-",
		"ls | head -c 5":            "-",
		"ls | tail +5":              "-",
		"ls | tail -n +5":           "-",
		"ls | tail -f":              "-",
		"ls | head -n 5 -q":         "-",
		"ls | head -5 file":         "-",
		"ls | head -n -5":           "-",
		"ls | head --lines=5":       "-",
		"ls | /usr/bin/head -5":     "-",
		"ls | head -5 > x":          "-",
		"ls | head -99999999999999": "-",
		"ls | ahead -5":             "-",
		"ls | head -5 | tail -2":    "ls | head -5 h0 t2",
	})
}

func TestR017_ExplicitLimitsComeFirst(t *testing.T) {
	n := func(i int) *int { return &i }
	l, ok := SplitLimits("ls | head -5")
	require.True(t, ok)
	for _, c := range []struct {
		head, tail         *int
		wantHead, wantTail int
		ok                 bool
	}{
		{nil, nil, 5, 0, true},
		{n(3), nil, 3, 0, true},
		{nil, n(2), 5, 2, true},
		{n(9), n(2), 9, 2, true},
		{nil, n(-1), 5, 0, true},
		{n(0), nil, 0, 0, false}, // `yes | head -5` would never end
	} {
		got, ok := l.Merge(c.head, c.tail)
		assert.Equal(t, c.ok, ok)
		if ok {
			assert.Equal(t, []int{c.wantHead, c.wantTail}, []int{got.Head, got.Tail})
			assert.Equal(t, "ls", got.Command)
		}
	}
}

func TestR018_MergedErrorsStayMerged(t *testing.T) {
	takes(t, map[string]string{
		"make 2>&1 | tail -5":          "make 2>&1 h0 t5",
		"make 2>&1 >/dev/null|head -1": "make 2>&1 >/dev/null h1 t0",
		"make 2>&1":                    "-",
	})
}

func TestR019_HeadFirstThenTail(t *testing.T) {
	assert.Equal(t, "b\nc\n", ApplyLimits("a\nb\nc\nd\n", 3, 2))
	assert.Equal(t, "a\n", ApplyLimits("a\nb\nc\nd\n", 1, 2))
	assert.Equal(t, "", ApplyLimits("", 1, 1))
}

func TestR020_TheNewlineAtTheEndIsNoLine(t *testing.T) {
	assert.Equal(t, "b\n", ApplyLimits("a\nb\n", 0, 1))
	assert.Equal(t, "b", ApplyLimits("a\nb", 0, 1))
	assert.Equal(t, "\n", ApplyLimits("a\n\n", 0, 1))
	assert.Equal(t, "a\nb\n", ApplyLimits("a\nb\n", 2, 2))
	assert.Equal(t, "a\nb\n", ApplyLimits("a\nb\n", 0, 0))
	assert.Equal(t, "a\nb\n", ApplyLimits("a\nb\n", -1, -1))
	assert.Equal(t, "-", taken("ls | head -0"))
	assert.Equal(t, "-", taken("yes | head -n 0"))
}

// What is shown is what the programs of this machine show.
func TestR020_LimitsAreThoseOfHeadAndTail(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\nb", "a\nb\n", "\n\n\n", "a\n\nb\r\nc", "a\nb\nc\nd\n"} {
		for n := 1; n < 5; n++ {
			for name, got := range map[string]string{"head": ApplyLimits(text, n, 0), "tail": ApplyLimits(text, 0, n)} {
				cmd := exec.Command(name, "-n", fmt.Sprint(n))
				cmd.Stdin = strings.NewReader(text)
				want, err := cmd.Output()
				require.NoError(t, err)
				assert.Equal(t, string(want), got, "%s -%d of %q", name, n, text)
			}
		}
	}
}

// The place behind line n is the same however the output came, and is known
// long after a window of its end has lost it.
func TestR021_HeadLinesAreCountedFromTheStartOfTheOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c]{0,3}\n?){0,30}`).Draw(t, "text")
		n := rapid.IntRange(1, 8).Draw(t, "n")
		mark := LineLimit{Lines: n}
		var at int64
		done := false
		for rest := text; rest != ""; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "k")
			at, done = mark.Feed([]byte(rest[:k]))
			rest = rest[k:]
		}
		want := ApplyLimits(text, n, 0)
		if int(at) != len(want) || done != (strings.Count(want, "\n") == n) {
			t.Fatalf("%d %v, want %q", at, done, want)
		}
	})
}

func TestR022_WhatNeedsItsPipeKeepsIt(t *testing.T) {
	takes(t, map[string]string{
		"yes | head -5":                           "yes h5 t0",
		"yes | head -n 0":                         "-",
		"exit 3 | head -1":                        "-", // would end a live shell
		"cd /x | head -1":                         "-",
		"X=5 | tail -1":                           "-",
		"export A=1 | tail -1":                    "-",
		"{ a; read b; } | tail -1":                "-",
		"if a; then exit 1; fi | tail -1":         "-",
		"((x++)) | tail -1":                       "-",
		"command exit 3 | head -1":                "-",
		"builtin command -p cd /x | head -1":      "-",
		"command -v exit | head -1":               "-", // nobody misses it
		"command ls | head -1":                    "command ls h1 t0",
		"read x |& cat | tail -1":                 "read x |& cat h0 t1",
		"( cd x; ls ) | tail -1":                  "( cd x; ls ) h0 t1",
		"ls | while read x; do a; done | head -1": "ls | while read x; do a; done h1 t0",
		"for f in *; do wc $f; done | head -1":    "for f in *; do wc $f; done h1 t0",
		"echo $(cd x; pwd) | tail -1":             "echo $(cd x; pwd) h0 t1",
		"! ls | head -1":                          "-", // the status of the pipe is asked for
		"time ls | head -1":                       "-",
		"ls | head -1 &":                          "-",
		"a & b | head -1":                         "-",
	})
}

func TestR023_OnlyAProvenLastPipeIsTaken(t *testing.T) {
	takes(t, map[string]string{
		`echo a \| head -5`:                "-",
		`echo "a | head -5`:                "-",
		`echo 'a | head -5'`:               "-",
		`echo "| head -5`:                  "-",
		"echo a # | head -5":               "-",
		"(ls | head -5":                    "-",
		"echo $(ls | head -5":              "-",
		"cat <<E | head -5\nx\nE":          "-",
		"(cat <<E\nx\nE\n) | head -5":      "-",
		"cat <<E\nls | head -5":            "-",
		"cat <<E\n| head -5\nE":            "-",
		"bash <<< 'x' | head -5":           "bash <<< 'x' h5 t0",
		"ls |& head -5":                    "-",
		"ls || head -5":                    "-",
		"a; ls | head -5":                  "-", // what a prints was never cut
		"a\nls | head -5":                  "-",
		"a && ls | head -5":                "-",
		"a || ls | head -5":                "-",
		"cd x && ls | head -5":             "cd x && ls h5 t0",
		"cd x && cd 'y z' && ls | head -5": "cd x && cd 'y z' && ls h5 t0",
		"cd - && ls | head -5":             "-", // prints
		"cd x 2>&1 && ls | head -5":        "-",
		`ls a\ | head -5`:                  `ls a\  h5 t0`,
		"ls \\\n | head -5":                "ls h5 t0",
		`ls | head "-5"`:                   "-",
		"ls | X=1 head -5":                 "-",
		"git log | grep x | tail -3":       "git log | grep x h0 t3",
		"ls | head\n-5":                    "-",
		"é | head -5":                      "é h5 t0",
		"make\r\n| head -5":                "-",
	})
	deep := strings.Repeat("(", 5000) + "x" + strings.Repeat(")", 5000) + " | head -5"
	assert.Equal(t, "-", taken(deep))
	assert.Equal(t, "-", taken(strings.Repeat("a", MaxParse)+" | head -5"))
}

func TestBadInputHostileTextsKeepTheirLimits(t *testing.T) {
	for _, text := range hostileTexts() {
		took := fastest(func() {
			if l, ok := SplitLimits(text + " | head -5"); ok && len(text) > MaxParse {
				t.Errorf("%.20q was cut to %.20q", text, l.Command)
			}
		})
		assert.Less(t, took, 100*time.Millisecond, "%.20q", text)
	}
}

func FuzzTakeLimits(f *testing.F) {
	for _, seed := range []string{"ls | head -5", " a |tail -n3 ", "cat <<E | head -2\nx\nE", `a\ | head -1`, "a |\\\n head -2", "`a | head -1", "a \r\n| head -1", "a\x00| head -1", "# | head -1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := SplitLimits(text)
		if !ok {
			if l != (Limited{Command: text}) {
				t.Fatalf("%q changed to %+v", text, l)
			}
			return
		}
		if trimmed := strings.Trim(text, blanks); l.Command+l.Pipe != trimmed {
			t.Fatalf("%q and %q are not %q", l.Command, l.Pipe, trimmed)
		}
		if (l.Head > 0) == (l.Tail > 0) || l.Command == "" {
			t.Fatalf("%q: %+v", text, l)
		}
		if _, err := Parse(l.Command); err != nil {
			t.Fatalf("%q is left: %v", l.Command, err)
		}
	})
}
