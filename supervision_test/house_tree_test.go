package supervision_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// pure are the folders that decide: the same input gives the same output.
var pure = []string{"messages", "actors/lifecycle", "internal/shelltext", "internal/dialect"}

// impure are the files that know one thing of the machine all the same: how deep
// the parser's stack is, since nothing else of it can be bounded.
var impure = map[string]string{"internal/shelltext/parse.go": "runtime"}

// checkPurity: no clock, no chance, no operating system, no concurrency. A dialect's
// session asks a host: its files are those with a context (docs/decisions/028).
func checkPurity(f *houseFile) []string {
	asks := f.in("internal/dialect") && !f.in("internal/dialect/core") && slices.Contains(f.imports(), "context")
	if f.test || asks || f.in("internal/test/dialect") || !f.in(pure...) {
		return nil
	}
	var wrong []string
	for _, path := range f.imports() {
		for _, no := range []string{"os", "net", "sync", "context", "syscall", "runtime", "math/rand", "crypto/rand", "log"} {
			if under(path, no) && impure[f.path] != path && !(path == "sync" && f.makesTablesLate()) {
				wrong = append(wrong, f.at(f.ast, "pure folder imports %s", path))
			}
		}
	}
	for _, s := range f.uses("time", "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker") {
		wrong = append(wrong, f.at(s, "time.%s in a pure folder: time is an input", s.Sel.Name))
	}
	return wrong
}

// checkActors: an actor has no lock and keeps no context; it never waits.
func checkActors(f *houseFile) []string {
	if f.test || f.folder != "actors" {
		return nil
	}
	var wrong []string
	for _, s := range slices.Concat(f.uses("sync"), f.uses("context")) {
		wrong = append(wrong, f.at(s, "%s.%s: an actor owns what it changes and never waits", s.X, s.Sel.Name))
	}
	return wrong
}

// checkMessages: a message can be logged, compared and put on a wire.
func checkMessages(f *houseFile) []string {
	if f.folder != "messages" || f.test {
		return nil
	}
	var wrong []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			wrong = append(wrong, f.at(n, "a channel cannot be sent"))
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if _, ok := field.Type.(*ast.FuncType); ok {
					wrong = append(wrong, f.at(field, "a function cannot be sent"))
				}
			}
		}
		return true
	})
	return wrong
}

// onceValue is the only name of package sync that a pure folder and a variable of a package may
// use: it makes a table when the table is first needed (docs/decisions/070).
const onceValue = "OnceValue"

// makesTablesLate reports whether a file uses nothing else of package sync.
func (f *houseFile) makesTablesLate() bool {
	return len(f.uses("sync")) == len(f.uses("sync", onceValue))
}

// The walls: a page is 150 lines, these are where a reader gives up.
const (
	maxFile = 400
	maxFunc = 60
)

func checkSize(f *houseFile) []string {
	if f.test {
		return nil
	}
	var wrong []string
	if lines := strings.Count(f.text, "\n"); lines > maxFile {
		wrong = append(wrong, f.at(f.ast, "%d lines, at most %d", lines, maxFile))
	}
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			lines := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			if lines > maxFunc {
				wrong = append(wrong, f.at(fn, "%s has %d lines, at most %d", fn.Name.Name, lines, maxFunc))
			}
		}
	}
	return wrong
}

// checkGlobals: a variable of a package is a table or an error, set once where
// it is declared. Assignments are found by name; a local of that name is let go.
func checkGlobals(f *houseFile) []string {
	if f.test {
		return nil
	}
	wrong := lockedGlobals(f)
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		local := localNames(fn)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			for _, target := range targets(n) {
				if name := rootName(target); name != "_" && f.vars[name] && !local[name] {
					wrong = append(wrong, f.at(n, "%s changes package variable %s: no global state", fn.Name.Name, name))
				}
			}
			return true
		})
	}
	return wrong
}

// lockedGlobals finds variables whose type says that they change.
func lockedGlobals(f *houseFile) []string {
	var wrong []string
	for _, decl := range f.ast.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, s := range slices.Concat(f.uses("sync"), f.uses("sync/atomic")) {
			if s.Sel.Name == onceValue {
				continue
			}
			if group.Pos() <= s.Pos() && s.End() <= group.End() {
				wrong = append(wrong, f.at(s, "package variable of %s.%s: no global state", s.X, s.Sel.Name))
			}
		}
	}
	return wrong
}

// targets are the expressions that a statement changes.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// rootName is the variable that an assignment changes: a for a.b[0] = x.
func rootName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// localNames are the names that a function declares anywhere.
func localNames(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					names[rootName(e)] = true
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				for _, e := range []ast.Expr{n.Key, n.Value} {
					names[rootName(e)] = true
				}
			}
		}
		return true
	})
	return names
}
