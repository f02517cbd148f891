package shelltext

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// moved is what SplitCd makes of a text: path and command, or "-".
func moved(text string) string {
	path, command, ok := SplitCd(text)
	switch {
	case ok:
		return path + "|" + command
	case path != "" || command != text:
		return "changed to " + path + "|" + command
	}
	return "-"
}

func moves(t *testing.T, table map[string]string) {
	t.Helper()
	for text, want := range table {
		assert.Equal(t, want, moved(text), "%q", text)
	}
}

// Whether a directory was given beside the command is for the caller to look at;
// what it then takes is the path, and what it leaves is the command.
func TestR025_ALeadingCdMovesIntoTheDirectory(t *testing.T) {
	path, command, ok := SplitCd("cd packages/core && npm test -- --watch=false")
	assert.True(t, ok)
	assert.Equal(t, "packages/core", path)
	assert.Equal(t, "npm test -- --watch=false", command)
	path, command, ok = SplitCd("npm test && cd packages")
	assert.False(t, ok)
	assert.Empty(t, path)
	assert.Equal(t, "npm test && cd packages", command)
}

func TestR026_TheGrammarOfALeadingCd(t *testing.T) {
	moves(t, map[string]string{
		"cd a && ls":               "a|ls",
		"cd  a/b  &&  ls -l":       "a/b|ls -l",
		"cd a&&ls":                 "a|ls",
		`cd "a b" && ls`:           "a b|ls",
		`cd 'a b' && ls`:           "a b|ls",
		`cd a\ b && ls`:            "a b|ls",
		`cd a\&b && ls`:            "a&b|ls",
		`cd "a"/'b c' && ls`:       "a/b c|ls",
		"cd a && cd b && ls":       "a|cd b && ls",
		"cd a && ls; pwd":          "a|ls; pwd",
		"cd a && ls || pwd":        "a|ls || pwd",
		"cd a && ls | wc":          "a|ls | wc",
		"cd a && ls &":             "a|ls &",
		"cd a && ls & pwd":         "-", // runs where the text began
		"cd a && ls &\npwd":        "-",
		"cd a && ls; pwd &":        "a|ls; pwd &",
		"cd a && cat <<E\nx\nE":    "a|cat <<E\nx\nE",
		" cd a && ls":              "-",
		"cd a; ls":                 "-",
		"cd a || ls":               "-",
		"cd a || b && ls":          "-",
		"cd a & ls":                "-",
		"cd a":                     "-",
		"cd a &&":                  "-",
		"cd a && ":                 "-",
		"cd && ls":                 "-",
		"cd '' && ls":              "-",
		"cd / && ls":               "-", // to who resolves it, a path of slashes is another directory
		"cd // && ls":              "-",
		"cd '/' && ls":             "-",
		"cd /a/ && ls":             "/a/|ls",
		"cdx a && ls":              "-",
		`cd "a && ls`:              "-", // the shell refuses it as well
		`cd "a && b" && ls`:        "-",
		"cd a b && ls":             "-",
		"cd -P a && ls":            "-",
		"cd - && ls":               "-",
		"cd a >/dev/null && ls":    "-",
		"cd a 2>/dev/null && (ls":  "-",
		"cd a && (ls":              "-",
		"cd a && x && y":           "a|x && y",
		"cd a # && ls":             "-",
		"cd ./app && (ls && pwd;)": "./app|(ls && pwd;)",
	})
}

func TestR027_NoLineEndInTheDirectory(t *testing.T) {
	moves(t, map[string]string{
		"cd a\nfoo && bar":    "-",
		"cd a\r\nfoo && bar":  "-",
		"cd\na && bar":        "-",
		"cd a\\\nb && bar":    "-",
		"cd a\n&& bar":        "-",
		"cd\ta\t&&\tbar":      "a|bar",
		"cd a && foo\nbar":    "a|foo\nbar",
		"cd a &&\nfoo && bar": "a|\nfoo && bar",
	})
}

func TestR028_WhatTheShellExpandsIsLeftToIt(t *testing.T) {
	moves(t, map[string]string{
		"cd $HOME/x && ls":    "-",
		`cd "$HOME" && ls`:    "-",
		"cd '$HOME' && ls":    "-",
		"cd `pwd` && ls":      "-",
		"cd a* && ls":         "-",
		"cd a? && ls":         "-",
		"cd a[bc] && ls":      "-",
		"cd {a,b} && ls":      "-",
		`cd "app/[id]" && ls`: "app/[id]|ls",
		"cd ~user && ls":      "-",
		"cd ~user/x && ls":    "-",
		"cd ~ && ls":          "~|ls",
		"cd ~/x && ls":        "~/x|ls",
		`cd ~/"a b" && ls`:    "~/a b|ls",
		`cd "~/x" && ls`:      "-",
		`cd \~/x && ls`:       "-",
		`cd ~"/x" && ls`:      "-",
		`cd ./~x && ls`:       "./~x|ls",
	})
}

func TestBadInputHostileTextsKeepTheirCd(t *testing.T) {
	for _, text := range hostileTexts() {
		for _, text := range []string{text, "cd a && " + text, "cd " + text + "&& b"} {
			took := fastest(func() {
				if got := moved(text); strings.HasPrefix(got, "changed") {
					t.Errorf("%.20q %.40s", text, got)
				}
			})
			assert.Less(t, took, 100*time.Millisecond, "%.20q", text)
		}
	}
}

func FuzzTakeCd(f *testing.F) {
	for _, seed := range []string{"cd a && ls", `cd "a b" && ls`, `cd a\&& b`, "cd a && b || c; d", `cd a\\&&b`, "cd \x00 && a", "cd a<<E && b\nE", "cd a|b && c", "cd a# && b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, command, ok := SplitCd(text)
		if !ok {
			if path != "" || command != text {
				t.Fatalf("%q changed", text)
			}
			return
		}
		if path == "" || strings.ContainsAny(path, "\n\r") || !strings.HasSuffix(text, command) || strings.Trim(command, blanks) == "" {
			t.Fatalf("%q: %q %q", text, path, command)
		}
		if head := strings.TrimSuffix(text, command); !strings.HasSuffix(strings.TrimRight(head, " \t"), "&&") {
			t.Fatalf("%q is taken from %q", head, text)
		}
	})
}
