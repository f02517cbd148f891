package shelltext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/shelltext"
)

// The command that does not parse begins where a shell has run all before it.
func TestExamineFindsTheBrokenCommand(t *testing.T) {
	for text, before := range map[string]string{
		"if then fi fi":                    "",
		"echo a\nif\nfi":                   "echo a\n",
		"echo a\n\n# c\nfor i in 1 2 do":   "echo a\n\n# c\n",
		"echo a; echo b; fi\necho c":       "",
		"echo a\n{ echo b":                 "echo a\n",
		"echo a\nf() {\necho b\n":          "echo a\n",
		"echo a\necho \"abc\necho d\n":     "echo a\n",
		"cat <<E\nif\nE\necho b\n)":        "cat <<E\nif\nE\necho b\n",
		"echo a; \\\nfi":                   "",
		"echo a\necho b &&\n)":             "echo a\n",
		"x=1\nif true; then\necho y\n  ))": "x=1\n",
		"echo $(date":                      "",
	} {
		found := shelltext.Examine(text, shelltext.BashGrammar, true)
		require.True(t, found.Broken, "%q", text)
		require.Equal(t, before, text[:found.Before], "%q", text)
		require.Equal(t, shelltext.Anything, found.Change)
		require.False(t, found.Pipe)
	}
	for _, text := range []string{"", "echo a", "if true; then echo b; fi", "cat <<E\nif\nE", "true | false", "[[ a =~ (b|c) ]]", strings.Repeat("(", 1<<16)} {
		require.False(t, shelltext.Examine(text, shelltext.BashGrammar, true).Broken, "%.40q", text)
	}
	require.False(t, shelltext.Examine("if", shelltext.NoGrammar, false).Broken, "another shell")
	require.True(t, shelltext.Examine("fi", shelltext.POSIXGrammar, false).Broken, "a reserved word")
	require.False(t, shelltext.Examine("ls -la --color=auto /tmp/x", shelltext.POSIXGrammar, false).Broken)
}

// The last command counts: that is the one whose statuses the shell still has.
func TestExamineFindsALastPipeline(t *testing.T) {
	for text, pipe := range map[string]bool{
		"a | b": true, "x; a | b": true, "a | b; x": false, "a || b": false, "a |& b": true, "a | b &": false, "(a | b)": false, "echo $(a | b)": false,
		"cd x && a | b": true, "! a | b": true, "time a | b": true, "if x; then a | b; fi": true, "f() { a | b; }": false, "echo '|'": false, "a | b # c": true,
		"a | b \\": false, "{ a | b; } >x": true, "cat <<E | b\nx\nE\n": true, "": false, "a \\\n| b": true,
	} {
		require.Equal(t, pipe, shelltext.Examine(text, shelltext.BashGrammar, true).Pipe, "%q", text)
	}
}

func BenchmarkExamine(b *testing.B) {
	for _, text := range []string{"ls -la", "cd /src && make test 2>&1 | tail -5", "for i in 1 2 3; do echo \"$i\"; done"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				shelltext.Examine(text, shelltext.BashGrammar, false)
			}
		})
	}
}
