package minimize

import (
	"mvdan.cc/sh/v3/syntax"

	"troupe/internal/shelltext"
)

// simple returns the words of a single simple command, or else the label for its form
//
func simple(command string) ([]shelltext.Word, string) {
	script, err := shelltext.Parse(command)
	if err != nil {
		return nil, ParseError
	}
	if len(script.File.Stmts) == 0 {
		return nil, Unknown
	}
	if len(script.File.Stmts) > 1 || script.Heredocs {
		return nil, Compound
	}
	stmt := script.File.Stmts[0]
	if timed, ok := stmt.Cmd.(*syntax.TimeClause); ok && alone(stmt) && timed.Stmt != nil {
		stmt = timed.Stmt
	}
	if pipe, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll) {
		return nil, Piped
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || !alone(stmt) || feedsOthers(stmt) {
		return nil, Compound
	}
	for _, c := range script.Commands {
		if c.Call == call {
			return c.Words, ""
		}
	}
	return nil, Unknown // assignments alone
}

// alone reports whether output and exit of a statement are those of its command.
func alone(stmt *syntax.Stmt) bool {
	return !stmt.Background && !stmt.Coprocess && !stmt.Negated && !stmt.Disown
}

// feedsOthers reports whether a process substitution writes beside the command.
func feedsOthers(stmt *syntax.Stmt) bool {
	found := false
	syntax.Walk(stmt, func(node syntax.Node) bool {
		if _, ok := node.(*syntax.ProcSubst); ok {
			found = true
		}
		return !found
	})
	return found
}
