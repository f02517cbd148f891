package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changer says that a command of a shell changes the shell itself. Behind a
// pipe's left end it changes a copy of it.
func changer(name string) bool {
	switch name {
	case ".", "alias", "bg", "break", "cd", "continue", "coproc", "disown", "enable", "eval", "exec", "exit", "export", "fg", "getopts", "hash",
		"let", "local", "logout", "mapfile", "popd", "pushd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source",
		"suspend", "trap", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// changesShell says that a statement may change the shell that runs it, if it is
// run without the pipe that gave it a shell of its own. What a function or an
// alias does is not known.
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

// withoutBuiltin is the command without what only says how its name is looked for:
// `command cd /` is cd, with a directory.
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
