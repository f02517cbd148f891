package shelltext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// What a person or a model is told of a setting or a variable that cannot be.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	check := func(err *messages.Error, message, hint string) {
		t.Helper()
		require.NotNil(t, err, message)
		require.Equal(t, []string{message, hint}, []string{err.Message, err.Hint})
	}
	hint := "a prefix is put before each command, such as nice -n 5; change shellPrefix"
	for prefix, want := range map[string]string{
		strings.Repeat("x", 4097): "the prefix of commands has 4097 bytes; at most 4096 are allowed",
		"a\nb":                    "the prefix of commands is more than one line, or has a NUL byte",
		" ":                       "the prefix of commands is blank",
	} {
		check(shelltext.CheckPrefix(prefix, "shellPrefix"), want, hint)
	}
	for path, want := range map[string]string{
		"/gone/bash": `shell "/gone/bash": not found or not executable`,
		"bash":       `shell "bash": not an absolute path`,
	} {
		_, err := shelltext.Select(shelltext.Setting{Path: path, Where: "shellPath"}, nil, func(string) bool { return false })
		check(err, want, "change shellPath, or leave it out: then a bash, zsh or sh is found")
	}
	_, _, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Set: []string{"=x"}}}, nil)
	check(err, `invalid environment entry "="`, "use NAME=value, without NUL bytes")
	_, _, err = shelltext.Environment(messages.RunCommand{Env: messages.Env{Set: []string{"LD_PRELOAD=x.so"}}}, nil)
	check(err, "LD_PRELOAD is not taken from a request: it makes other programs run code of its choice",
		"set it inside the command, where it can be seen, or give the caller's whole environment (env_policy caller)")
}

// What is said of keys that cannot be typed.
func TestKeysSayWhatIsWrong(t *testing.T) {
	pipe := "use {enter} {tab} {esc} {space} {backspace} <C-c>; {lbrace} and <lt> are { and <"
	terminal := "use {enter} {tab} {esc} {space} {backspace} {delete} {insert} {up} {down} {left} {right} {home} {end} {pageup} {pagedown} " +
		"{f1} … {f35} {kp0} … {kp9} {kpenter}, with ctrl+ shift+ alt+ super+ before the name, or as <C-c> <S-Tab> <M-x> <D-s>; {lbrace} and <lt> are { and <"
	for _, c := range []struct {
		text          string
		pipe          bool
		message, hint string
	}{
		{"{up", false, `"{up" has no closing bracket`, terminal},
		{"{F99}", false, `"F99" is not a key`, terminal},
		{"{F99}", true, `"F99" is not a key`, pipe},
		{"{up}", true, `the key "up" means nothing to a job that reads a pipe`, "it is a terminal's; " + pipe},
		{"<S-CR>", false, `"S-CR" cannot be typed: the program has not asked for keys that only the kitty keyboard protocol tells apart`, terminal},
	} {
		_, err := shelltext.EncodeKeys(c.text, shelltext.KeyMode{Pipe: c.pipe})
		var e *messages.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []string{c.message, c.hint}, []string{e.Message, e.Hint})
	}
}
