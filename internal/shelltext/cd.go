package shelltext

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const leadingCd = `^cd[ \t]+((?:[^&\\\n\r]|\\[^\n\r])+?)[ \t]*&&[ \t]*`

// maxPath is the longest path that is looked for, in bytes: no system takes more.
const maxPath = 4096

// SplitCd splits a leading `cd <path> && ` from a command: path is the directory,
// without its quotes and backslashes, and command what is left. It is false, and
// the command has to be run as it is, where only the shell knows the directory
// (`$`, a backtick, a pattern, `~user`, `-`), where the directory is `/`, which may
// mean another one to who resolves it, where the text is no bash, and where nothing
// is left. A path that begins with `~/`, or is `~`, is to be expanded by who
// resolves it.
func SplitCd(text string) (path, command string, ok bool) {
	if !strings.HasPrefix(text, "cd") || len(text) > MaxParse {
		return "", text, false
	}
	match := regexp.MustCompile(leadingCd).FindStringSubmatchIndex(text[:min(len(text), maxPath)])
	if match == nil {
		return "", text, false
	}
	raw, rest := text[match[2]:match[3]], text[match[1]:]
	if strings.ContainsAny(raw, "$`*?") {
		return "", text, false
	}
	script, err := Parse(text)
	if err != nil || len(script.File.Stmts) == 0 {
		return "", text, false
	}
	if chain := script.File.Stmts[0]; chain.Background && len(script.File.Stmts) > 1 {
		return "", text, false // what is behind runs where the text began
	}
	first, and := leftmost(script.File.Stmts[0])
	// The parser has to see the `&&` where the grammar does.
	if and == nil || int(and.OpPos.Offset()) != match[3]+strings.Index(text[match[3]:], "&&") || !changesDir(first) {
		return "", text, false
	}
	word := first.Cmd.(*syntax.CallExpr).Args[1]
	path, _ = Literal(word)
	if strings.Trim(path, "/") == "" || expands(word) || !tildeAsWritten(path, word) {
		return "", text, false
	}
	return path, rest, true
}

// leftmost is the statement a chain begins with, and what joins it to the next.
func leftmost(s *syntax.Stmt) (*syntax.Stmt, *syntax.BinaryCmd) {
	var join *syntax.BinaryCmd
	for {
		chain, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return s, join
		}
		s, join = chain.X, chain
	}
}

// expands says that a bracket or a brace outside of quotes may stand for other names.
func expands(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, "[{") {
			return true
		}
	}
	return false
}

// tildeAsWritten says that a tilde in front means to the shell what it will mean to who
// resolves the path: the home directory if nothing of `~/` is quoted, and never
// that of another user.
func tildeAsWritten(path string, word *syntax.Word) bool {
	if !strings.HasPrefix(path, "~") {
		return true
	}
	lit, ok := word.Parts[0].(*syntax.Lit)
	return ok && (strings.HasPrefix(lit.Value, "~/") || lit.Value == "~" && len(word.Parts) == 1)
}
