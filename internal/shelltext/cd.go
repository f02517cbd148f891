package shelltext

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const leadingCd = `^cd[ \t]+((?:[^&\\\n\r]|\\[^\n\r])+?)[ \t]*&&[ \t]*`

// maxPath bounds the path that is searched for, in bytes. No system accepts a longer
// one.
const maxPath = 4096

// SplitCd splits a leading `cd <path> && ` from a command. path is the directory
// without quotes and backslashes; command is the rest. A path that is `~`, or begins
// with `~/`, is left for the caller to expand.
//
// ok is false, and the command must run unchanged, if only the shell knows the
// directory (`$`, a backtick, a pattern, `~user`, `-`). It is also false for the
// directory `/`, which a caller may map elsewhere, for a text that is not bash, and if
// no command is left.
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
		return "", text, false // the statements after it run in the starting directory
	}
	first, and := leftmost(script.File.Stmts[0])
	// The parser must find the `&&` where the grammar does.
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

// leftmost returns the first statement of a chain, and the operator after it.
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

// expands reports whether a bracket or a brace outside of quotes may stand for other
// names.
func expands(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, "[{") {
			return true
		}
	}
	return false
}

// tildeAsWritten reports whether shell and caller agree on a leading tilde: an unquoted
// `~` or `~/` is the home directory. `~user` never qualifies.
func tildeAsWritten(path string, word *syntax.Word) bool {
	if !strings.HasPrefix(path, "~") {
		return true
	}
	lit, ok := word.Parts[0].(*syntax.Lit)
	return ok && (strings.HasPrefix(lit.Value, "~/") || lit.Value == "~" && len(word.Parts) == 1)
}
