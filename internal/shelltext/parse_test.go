package shelltext

import (
	"errors"
	"math/rand"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseFindsEverySimpleCommand(t *testing.T) {
	for text, want := range map[string]string{
		`cat a b`:               `cat a b`,
		`c\at "a"'b'`:           `cat ab`,
		`"c"at "x y" "\$z\q"`:   `cat x y $z\q`,
		`X=1 make >log 2>&1`:    `make`,
		`X=1`:                   ``,
		`a | b 'c' && d; e & f`: `a|b c|d|e|f`,
		"echo \"$(cat `ls`)\"":  "echo \"$(cat `ls`)\"|cat `ls`|ls",
		`f() { rm x; }; if t; then u; else v; fi`:  `rm x|t|u|v`,
		`( cd x; { y; } )`:                         `cd x|y`,
		`$X y`:                                     `$X y`,
		`$'cat' $'\x63'`:                           `cat $'\x63'`,
		"for i in $(ls); do wc $i; done":           "ls|wc $i",
		"cat <<E\n$(id)\nE\n":                      "cat|id",
		"case $(a) in x) b;; esac; [[ -n $(c) ]]":  "a|b|c",
		"c\\\nat x":                                "cat x",
		"make\r\nls\r\n":                           "make|ls",
		"export A=$(hostname); time sleep 1; ! ls": "hostname|sleep 1|ls",
	} {
		s, err := Parse(text)
		require.NoError(t, err, text)
		var got []string
		for _, c := range s.Commands {
			var words []string
			for _, w := range c.Words {
				words = append(words, w.Text)
			}
			got = append(got, strings.Join(words, " "))
		}
		assert.Equal(t, want, strings.Join(got, "|"), text)
	}
}

func TestParseKnowsStagesAndTheLastPipeline(t *testing.T) {
	s, err := Parse("x; a | b <<E |& c\nE\n")
	require.NoError(t, err)
	assert.True(t, s.Heredocs)
	var stages []int
	for _, c := range s.Commands {
		stages = append(stages, c.Stage)
	}
	assert.Equal(t, []int{0, 0, 1, 2}, stages)

	s, err = Parse("a | b; c && d | e")
	require.NoError(t, err)
	assert.False(t, s.Heredocs)
	assert.Equal(t, "c && d | e", s.Source(s.File.Stmts[1]))

	s, err = Parse(" # nothing")
	require.NoError(t, err)
	assert.Empty(t, s.Commands)
}

func TestParseSaysWhyNot(t *testing.T) {
	_, err := Parse(strings.Repeat("a", MaxParse+1))
	assert.Equal(t, ErrTooLarge, err)
	_, err = Parse(strings.Repeat("a", MaxParse))
	assert.NoError(t, err)

	_, err = Parse("if true\nthen (")
	var syntax *SyntaxError
	require.True(t, errors.As(err, &syntax))
	assert.Equal(t, 2, syntax.Line)
	assert.Contains(t, err.Error(), "the command is not valid bash at 2:")

	asked := 0
	_, err = ParseWithin(strings.Repeat("ls\n", 1000), func() bool { asked++; return asked == 3 })
	assert.Equal(t, ErrTooSlow, err)
}

func TestParseErrorsHaveTheirTexts(t *testing.T) {
	assert.EqualError(t, ErrTooLarge, "the command is too long to be parsed")
	assert.EqualError(t, ErrTooDeep, "the command is nested too deeply to be parsed")
	assert.EqualError(t, ErrTooSlow, "the command took too long to be parsed")
	_, err := Parse("ls\n |")
	assert.ErrorContains(t, err, "the command is not valid bash at 2:2: ")
	_, err = ParseWithin("ls", func() bool { panic("as the parser might") })
	assert.EqualError(t, err, "the command is not valid bash: the parser failed on it")
}

func TestParseDepth(t *testing.T) {
	for _, u := range [][2]string{
		{"(", ")"},
		{"{ ", "; }"},
		{"echo $(", ")"},
		{"if a; then ", "; fi"},
		{"while a; do ", "; done"},
		{"case x in y) ", ";; esac"},
		{`echo "$(`, `)"`},
		{"echo ${a:-", "}"},
		{"f() { ", "; }"},
	} {
		_, err := Parse(strings.Repeat(u[0], 50) + "x" + strings.Repeat(u[1], 50))
		assert.NoError(t, err, u[0])
		_, err = Parse(strings.Repeat(u[0], 6000) + "x" + strings.Repeat(u[1], 6000))
		if len(u[0]+u[1])*6000 < MaxParse {
			assert.Equal(t, ErrTooDeep, err, u[0])
		} else {
			assert.Equal(t, ErrTooLarge, err, u[0])
		}
	}
	// What is quoted is no nesting.
	_, err := Parse("echo '" + strings.Repeat("(", 60000) + "'")
	assert.NoError(t, err)
}

// hostileTexts are what makes parsers slow: the units that nest, chain or open
// something, as often as the cap lets them, and bytes without sense.
func hostileTexts() []string {
	units := []string{
		"(", "((", "{ ", "$(", "$((", "`", "if ", "case x in ", "${a", "${a:-", "$[", "[[ ", "! ", "<<A ", "<<A\n", "<<A\nx\nA\n", "$(<<A\n",
		"a|", "a&&", "a;", "a\n", "<(", "x@(", "a[", "a[$(", "a=([", "$((a?", "$((-", "while ", "f() ", "time ", "let -", "\"$(", "\"${a:-",
		"'", "\"", "\\", "\\\n", "\r", "\x00", "\xff", "é", "$", "$((x=", "${a[", "else ", "(((1)) ", "$(case a in a) ", "a < b ",
		"sh -c a;", "cd a&&", "|head -1", "'>'", "\"$a>\"", "echo>a;", "kill 1;", "pkill;", "${!", "$($(", "sh -c 'sh -c a';",
	}
	var texts []string
	for _, u := range units {
		texts = append(texts, strings.Repeat(u, MaxParse/len(u)), u+strings.Repeat(u, 1000))
	}
	rnd := rand.New(rand.NewSource(1))
	const signs = "(){}$`\"'\\<>|&;! \nai#="
	for range 20 {
		b := make([]byte, MaxParse)
		rnd.Read(b)
		texts = append(texts, string(b))
		for i := range b {
			b[i] = signs[int(b[i])%len(signs)]
		}
		texts = append(texts, string(b))
	}
	return append(texts, strings.Repeat("(", 100000), strings.Repeat("a ", 8<<20))
}

// fastest is the least time that f took on a processor, with the collection of what
// it left: the load of the machine is not counted.
func fastest(f func()) time.Duration {
	least := time.Hour
	for range 5 {
		start := used()
		f()
		if least = min(least, used()-start); least < 20*time.Millisecond {
			break
		}
	}
	return least
}

// used is the time that this process has had.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestBadInputHostileTextsAreParsedInTime(t *testing.T) {
	for _, text := range hostileTexts() {
		took := fastest(func() { _, _ = Parse(text) })
		assert.Less(t, took, 100*time.Millisecond, "%.20q", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"cat <<E | head -2\nx\nE", "a | b", `$(c\at "x")`, "((((", "`\\`", "a=(b", "${!x@P}", "\xff\x00", "function x { y; }"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if (s == nil) == (err == nil) {
			t.Fatal("neither or both")
		}
		if s == nil {
			return
		}
		for _, c := range s.Commands {
			if len(c.Words) == 0 {
				t.Fatal("a command without words")
			}
			_ = s.Source(c.Stmt)
		}
	})
}
