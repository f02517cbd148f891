package shelltext

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var allTools = []string{"read", "search", "find", "edit", "write", "bash"}

// suggested is the tool that the default rules suggest for a command, or "-".
func suggested(text string) string {
	rules := Compile(append(DefaultRules(""), AsyncRules()...))
	block, ok := Intercept(text, text, rules, allTools)
	if !ok {
		return "-"
	}
	return block.SuggestedTool
}

func suggests(t *testing.T, table map[string]string) {
	t.Helper()
	for text, want := range table {
		assert.Equal(t, want, suggested(text), "%q", text)
	}
}

func TestR031_ARuleBlocksOnlyWhereItsToolIsThere(t *testing.T) {
	rules := Compile(DefaultRules(""))
	_, ok := Intercept("cat x", "cat x", rules, []string{"edit", "search"})
	assert.False(t, ok)
	_, ok = Intercept("cat x", "cat x", rules, nil)
	assert.False(t, ok)
	_, ok = Intercept("  cat x\n", "  cat x\n", rules, []string{"read"})
	assert.True(t, ok)

	// A text that is no bash is judged by its words, and by nothing else.
	for text, want := range map[string]bool{"cat (": true, "echo (": false, "echo \"a > b (": true, "make && cat (": false} {
		_, ok := Intercept(text, text, rules, allTools)
		assert.Equal(t, want, ok, text)
	}
}

func TestR031_InvalidRulesAreSkipped(t *testing.T) {
	ready := Compile([]Rule{
		{Pattern: `(`, Tool: "a"},
		{Pattern: `(?<!a)b`, Tool: "a"},
		{Pattern: `b(?=a)`, Tool: "a"},
		{Pattern: `(a)\1`, Tool: "a"},
		{Pattern: `a`, Flags: "x", Tool: "a"},
		{Pattern: `a`, Flags: "ii", Tool: "a"},
		{Pattern: `last`, Tool: "b", Message: "m"},
	})
	require.Len(t, ready, 1)
	block, ok := Intercept("at last", "at last", ready, []string{"a", "b"})
	require.True(t, ok)
	assert.Equal(t, "b", block.SuggestedTool)
}

func TestR032_TheTextOfABlock(t *testing.T) {
	rules := Compile([]Rule{
		{Pattern: `^none`, Tool: "a", Message: "No."},
		{Pattern: `^make`, Tool: "missing", Message: "No."},
		{Pattern: `^make`, Tool: "a", Message: "Use it."},
		{Pattern: `make`, Tool: "b", Message: "Later."},
	})
	block, ok := Intercept("make all", " make all", rules, []string{"b", "a"})
	require.True(t, ok)
	assert.Equal(t, "Blocked: Use it.\n\n make all", block.Text())

	// Only what is left behind the cd matches: that is what is shown.
	only := Compile([]Rule{{Pattern: `\Amake -j$`, Tool: "a", Message: "Use it."}})
	block, ok = Intercept("make  -j", "cd x && make  -j", only, []string{"a"})
	require.True(t, ok)
	assert.Equal(t, "Blocked: Use it.\n\ncd x && make  -j", block.Text())
	whole := Compile([]Rule{{Pattern: `\A(?s:.*)make  -j$`, Tool: "a", Message: "Use it."}})
	block, ok = Intercept("make  -j", "X=1; make  -j;", whole, []string{"a"})
	require.True(t, ok)
	assert.Equal(t, "Blocked: Use it.\n\nmake  -j", block.Text())
}

func TestR029_TheOriginalAndTheStrippedAreSeen(t *testing.T) {
	rules := Compile([]Rule{{Pattern: `^cd x`, Tool: "a", Message: "c"}, {Pattern: `^\s*"b"  c`, Tool: "a", Message: "s"}})
	block, ok := Intercept("ls", "cd x && ls", rules, []string{"a"})
	require.True(t, ok)
	assert.Equal(t, Block{SuggestedTool: "a", Message: "c", Command: "cd x && ls"}, block)
	block, ok = Intercept(`"b"  c`, `cd y && "b"  c`, rules, []string{"a"})
	require.True(t, ok)
	assert.Equal(t, Block{SuggestedTool: "a", Message: "s", Command: `"b"  c`}, block)
}

func TestR033_PatternsAreSearchedWithTheirFlags(t *testing.T) {
	for _, c := range []struct {
		pattern, flags, text string
		want                 bool
	}{
		{"push", "", "git push", true},
		{"push", "", "git PUSH", false},
		{"push", "i", "git PUSH", true},
		{"^push", "", "git status\npush", true}, // a simple command begins so
		{"^-push", "", "git status \\\n-push", false},
		{"^-push", "m", "git status \\\n-push", true},
		{"t.-p", "", "git commit \"t\n-p\"", true}, // a rendered word is on one line
		{"<.E.>", "", "a <E\n> b", false},
		{"<E.>", "s", "a <E\n> b", true},
		{"push", "gu", "git push", true},
		{"push", "y", "git push", false},
		{"git|push", "y", "git push", true},
		{"2>&1", "", "make 2>&1", true}, // what the text says, though it renders nothing
		{`"a  b"`, "", `echo "a  b"`, true},
	} {
		ready := Compile([]Rule{{Pattern: c.pattern, Flags: c.flags, Tool: "a"}})
		_, ok := Intercept(c.text, c.text, ready, []string{"a"})
		assert.Equal(t, c.want, ok, "%s /%s in %q", c.pattern, c.flags, c.text)
	}
}

func TestR034_DefaultRules(t *testing.T) {
	var patterns, tools []string
	for _, r := range DefaultRules("") {
		patterns, tools = append(patterns, r.Pattern), append(tools, r.Tool)
		assert.Empty(t, r.Flags)
	}
	assert.Equal(t, []string{"read", "search", "find", "edit", "edit", "edit", "write"}, tools)
	assert.Equal(t, []string{
		`^\s*(cat|head|tail|less|more)\s+`,
		`^\s*(grep|rg|ripgrep|ag|ack)\s+`,
		`^\s*(find|fd|locate)\s+.*(-name|-iname|-type|--type|-glob)`,
		`^\s*sed\s+(-i|--in-place)`,
		`^\s*perl\s+.*-[pn]?i`,
		`^\s*awk\s+.*-i\s+inplace`,
		`^\s*(echo|printf|cat\s*<<)\s+.*[^|]>\s*\S`,
	}, patterns)
	assert.Len(t, Compile(DefaultRules("")), 7)
	for i, text := range []string{
		"Use the `read` tool instead of cat, head, tail, less or more: it pages and numbers the lines.",
		"Use the `search` tool instead of grep, rg, ripgrep, ag or ack: it skips ignored files and bounds what it returns.",
		"Use the `find` tool instead of find, fd or locate with a pattern: it skips ignored files and is faster.",
		"Use the `edit` tool instead of sed -i: it checks what it replaces and shows the difference.",
		"Use the `edit` tool instead of perl -i: it checks what it replaces and shows the difference.",
		"Use the `edit` tool instead of awk -i inplace: it checks what it replaces and shows the difference.",
		"Use the `write` tool instead of echo, printf or cat << with a redirection: nothing in the text has to be quoted.",
	} {
		assert.Equal(t, text, DefaultRules("")[i].Message)
	}
	suggests(t, map[string]string{
		"cat a": "read", "head -5 a": "read", "tail -f a": "read", "less a": "read", "more a": "read", "cat": "-", "cat\n": "-", "category a": "-",
		"grep a b": "search", "rg a": "search", "ag a": "search", "ack a": "search", "ripgrep a": "search",
		"find . -name a": "find", "fd --type f": "find", "locate -iname x": "find", "find . -type d": "find", "find . -newer a": "-",
		"sed -i s/a/b/ f": "edit", "sed --in-place=.b s/a/b/ f": "edit", "sed -n 1p f": "-",
		"perl -pi -e s/a/b/ f": "edit", "perl -ni -e 1 f": "edit", "perl -i.bak -pe 1 f": "edit", "perl -pe s/a/b/ f": "-",
		"awk -i inplace 1 f": "edit", "awk 1 f": "-",
		"echo a > b": "write", "printf a >> b": "write", "cat <<E > b\nx\nE": "write", "cat > b <<'E'\nx\nE": "write", "echo a >| b": "write", "echo a": "-",
	})
}

func TestR035_LeadingNohupAndTrailingAmpersand(t *testing.T) {
	suggests(t, map[string]string{
		"nohup make":            "bash",
		"nohup make &":          "bash",
		"make &":                "bash",
		"a; make & ":            "bash",
		"a && make &":           "bash",
		"make & # later":        "bash",
		"make & wait":           "-",
		"make && ls":            "-",
		`echo a \&`:             "-",
		`echo "a &"`:            "-",
		"echo a # &":            "-",
		"which nohup":           "-",
		"(make &)":              "-",
		"cat <<E\na &\nE":       "-",
		"make ( &":              "bash", // no bash: its words decide
		"bash -c 'server &'":    "bash",
		"bash -c 'nohup serve'": "bash",
	})
	rules := AsyncRules()
	assert.Equal(t, "Use `async: true` of the `bash` tool instead of nohup: the job is then known, and its end is told.", rules[0].Message)
	assert.Equal(t, "Use `async: true` of the `bash` tool instead of a trailing &: the job is then known, and its end is told.", rules[1].Message)
}

func TestR036_ABlockNamesItsTool(t *testing.T) {
	block, ok := Intercept("sed -i s/a/b/ f", "", Compile(DefaultRules("")), allTools)
	require.True(t, ok)
	assert.Equal(t, "edit", block.SuggestedTool)
	assert.Equal(t, textUseEdit, block.Message)
	assert.Equal(t, "sed -i s/a/b/ f", block.Command)
}

func TestR037_TheParseDecides(t *testing.T) {
	suggests(t, map[string]string{
		`echo "a > b"`:                       "-",
		`echo 'x->y' && ls`:                  "-",
		`printf "%s > %s" a b`:               "-",
		`echo a \> b`:                        "-",
		`echo $((3 > 2))`:                    "-",
		`echo "$(wc <a >b)"`:                 "-",
		"echo a >&2":                         "-",
		"echo a 2>/dev/null":                 "-",
		"echo a > /dev/null":                 "-",
		"echo a 2>err":                       "-",
		`echo "a > b" > c`:                   "write",
		"echo \"a\nb\" > c":                  "write",
		"echo a | tee >(cat)":                "-",
		"cat <<E\na > b\nE":                  "-",
		"cat<<E>b\nx\nE":                     "write",
		`c\at x`:                             "read",
		`"c"at x`:                            "read",
		`$'cat' x`:                           "read",
		`$C x`:                               "-",
		"X=1 grep a b":                       "search",
		"cat < a":                            "read",
		"make $(cat a)":                      "read",
		"echo `grep a b`":                    "search",
		"f() { cat a; }; f":                  "read",
		"if grep -q a b; then c; fi":         "search",
		"for f in *; do cat $f; done":        "read",
		"( cd a; rg x )":                     "search",
		"a && cat b":                         "read",
		"bash -c 'cat a'":                    "read",
		"sh -ec \"x; cat a\"":                "read",
		"bash -o pipefail -c 'rg a'":         "search",
		"bash -c 'bash -c \"rg a\"'":         "search",
		"/bin/bash -lc 'sed -i 1d f'":        "edit",
		"bash cat.sh":                        "-",
		"bash -c \"$X\"":                     "-",
		"eval 'cat a'":                       "-",
		"ls | xargs cat":                     "-",
		"env cat a":                          "-",
		"make | grep x":                      "-",
		"make | (head -5; cat)":              "-",
		"ls | while read f; do cat $f; done": "-",
		"ls | wc $(cat a)":                   "read",
		"make | bash -c 'grep x'":            "-",
		"grep x <<< $Y":                      "-",
		"git commit -m \"$(cat <<'E'\nfix a > b\nE\n)\"": "-",
	})
}

func TestR290_TheSearchToolHasTheNameThatIsSet(t *testing.T) {
	block, ok := Intercept("rg a", "rg a", Compile(DefaultRules("grep")), []string{"grep"})
	require.True(t, ok)
	assert.Equal(t, "grep", block.SuggestedTool)
	assert.Contains(t, block.Text(), "Blocked: Use the `grep` tool instead of ")
	_, ok = Intercept("rg a", "rg a", Compile(DefaultRules("grep")), []string{"search"})
	assert.False(t, ok)
	assert.Equal(t, "search", DefaultRules("")[1].Tool)
}

func TestBadInputHostileTextsAreJudgedInTime(t *testing.T) {
	rules := Compile(append(append(DefaultRules(""), AsyncRules()...), Rule{Pattern: `a.*b.*>\s*c$`, Tool: "bash"}))
	for _, text := range hostileTexts() {
		took := fastest(func() { Intercept(text, text, rules, allTools) })
		assert.Less(t, took, 100*time.Millisecond, "%.20q", text)
	}
	_, ok := Intercept("cat "+strings.Repeat("a ", 8<<20), "", rules, allTools)
	assert.False(t, ok)

	slow := Compile([]Rule{{Pattern: "(.*a){900}b", Tool: "read"}})
	took := fastest(func() { _, ok = Intercept("x "+strings.Repeat("a", MaxParse-3), "", slow, allTools) })
	assert.Less(t, took, 500*time.Millisecond)
	assert.False(t, ok)
	_, ok = Intercept(strings.Repeat("a", 900)+"b", "", slow, allTools)
	assert.True(t, ok)
	_, ok = Intercept(strings.Repeat("a ", MaxParse/2-1)+"b", "", Compile([]Rule{{Pattern: "^(a|b|c{1,50}|d{1,50})+.*(x|y|z|a){1,50} b$", Tool: "read"}}), allTools)
	assert.True(t, ok, "a pattern that a person may write")
}

func FuzzIntercept(f *testing.F) {
	for _, seed := range []string{"cat a", `echo "a > b"`, "bash -c 'cat a' &", "cat <<E >b\nE", "$(rg a", "a | (cat b)", "sh -co x 'y'", "\"$(a 'b>')\" 'c>'"} {
		f.Add(seed, "make")
	}
	rules := Compile(append(append(DefaultRules(""), AsyncRules()...), Rule{Pattern: "q", Flags: "i", Tool: "read"}))
	f.Fuzz(func(t *testing.T, text, original string) {
		block, ok := Intercept(text, original, rules, allTools)
		if !ok {
			if block != (Block{}) {
				t.Fatal("a block of nothing")
			}
			return
		}
		if block.Command != text && block.Command != original || block.SuggestedTool == "" || block.Message == "" && block.SuggestedTool != "read" {
			t.Fatalf("%+v", block)
		}
		if _, ok := Intercept(text, original, rules, nil); ok {
			t.Fatal("blocked without a tool")
		}
	})
}
