package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changer reports whether a command changes the shell that runs it. In a pipeline it
// changes a copy.
func changer(name string) bool {
	switch name {
	case ".", "alias", "bg", "break", "cd", "continue", "coproc", "disown", "enable", "eval", "exec", "exit", "export", "fg", "getopts", "hash",
		"let", "local", "logout", "mapfile", "popd", "pushd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source",
		"suspend", "trap", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// changesShell reports whether a statement may change its shell if it runs without the
// pipe that gave it a shell of its own. Effects of functions and aliases are not known.
func changesShell(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				return false
			}
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.FuncDecl, *syntax.CoprocClause:
			found = true
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				found = true
			} else if name, ok := Literal(withoutBuiltin(n.Args)[0]); ok && changer(name) {
				found = true
			}
		}
		return !found
	})
	return found
}

// withoutBuiltin removes leading `command` and `builtin`: `command cd /` becomes `cd
// /`.
func withoutBuiltin(words []*syntax.Word) []*syntax.Word {
	for len(words) > 1 {
		name, ok := Literal(words[0])
		if !ok || name != "command" && name != "builtin" {
			break
		}
		for words = words[1:]; len(words) > 1; words = words[1:] {
			if option, ok := Literal(words[0]); !ok || !strings.HasPrefix(option, "-") {
				break
			}
		}
	}
	return words
}
