package supervision_test

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// houseRules are all the rules; house_bites_test.go has a file against each.
var houseRules = []houseRule{
	{"imports", checkImports},
	{"goroutines", checkGoroutines},
	{"sleep", checkSleep},
	{"purity", checkPurity},
	{"actors", checkActors},
	{"library", checkLibrary},
	{"props", checkProps},
	{"fd", checkFd},
	{"size", checkSize},
	{"init", checkInit},
	{"globals", checkGlobals},
	{"output", checkOutput},
	{"messages", checkMessages},
	{"skips", checkSkips},
	{"promises", checkPromises},
}

// at makes a complaint about a place in a file.
func (f *houseFile) at(n ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, f.set.Position(n.Pos()).Line, fmt.Sprintf(format, args...))
}

// in says whether the file lies in one of the folders or below it.
func (f *houseFile) in(folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return under(f.folder, folder) })
}

func under(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// imports gives the paths that a file imports.
func (f *houseFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		paths = append(paths, path)
	}
	return paths
}

// importName is what the file calls a package, "" if it does not import it.
func (f *houseFile) importName(path string) string {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value != strconv.Quote(path) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}

// uses finds each use of names of a package: of all names, if none is given.
func (f *houseFile) uses(path string, names ...string) []*ast.SelectorExpr {
	called := f.importName(path)
	if called == "" {
		return nil
	}
	var found []*ast.SelectorExpr
	f.selectors(func(s *ast.SelectorExpr) {
		x, ok := s.X.(*ast.Ident)
		if ok && x.Name == called && (len(names) == 0 || slices.Contains(names, s.Sel.Name)) {
			found = append(found, s)
		}
	})
	return found
}

func (f *houseFile) selectors(visit func(*ast.SelectorExpr)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			visit(s)
		}
		return true
	})
}

func checkImports(f *houseFile) []string {
	allowed, listed := mayImport[f.folder]
	if !listed {
		return []string{f.at(f.ast, "folder %q is not in the house plan: add its line to mayImport and to docs/architecture.md", f.folder)}
	}
	if f.test {
		return nil
	}
	var wrong []string
	for _, path := range f.imports() {
		if !mayKnow(f.folder, path, allowed) {
			wrong = append(wrong, f.at(f.ast, "%q may not import %s", f.folder, path))
		}
	}
	return wrong
}

// mayKnow says whether an import stands in the plan. The standard library is
// for all: the first element of its paths has no dot.
func mayKnow(folder, path string, allowed []string) bool {
	ours := path == "troupe" || strings.HasPrefix(path, "troupe/")
	if first, _, _ := strings.Cut(path, "/"); !ours && !strings.Contains(first, ".") {
		return true
	}
	short := strings.TrimPrefix(strings.TrimPrefix(path, "troupe"), "/")
	for _, entry := range allowed {
		switch {
		case ours && (entry == anything || entry == short), !ours && under(path, entry):
			return true
		}
	}
	return false
}

// checkGoroutines: everything else is an actor or a function.
func checkGoroutines(f *houseFile) []string {
	if f.test || f.in("backends", "client", "internal/gateway", "internal/test", "internal/cli", "bench", "cmd", "actors/workers") {
		return nil
	}
	var wrong []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.GoStmt); ok {
			wrong = append(wrong, f.at(s, "go statement: only backends, gateways, bench, cmd and the workers of the actors start goroutines"))
		}
		return true
	})
	return wrong
}

// checkSleep: code waits for events. A test may sleep in virtual time only.
func checkSleep(f *houseFile) []string {
	if f.test && f.importName("testing/synctest") != "" {
		return nil
	}
	var wrong []string
	for _, s := range f.uses("time", "Sleep") {
		wrong = append(wrong, f.at(s, "time.Sleep: wait for an event, or send yourself a message later"))
	}
	return wrong
}

// checkFd: Fd makes the descriptor blocking for everyone who shares it.
func checkFd(f *houseFile) []string {
	if f.test {
		return nil
	}
	var wrong []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 0 {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Fd" {
				wrong = append(wrong, f.at(s, "Fd: use SyscallConn, which leaves the descriptor non-blocking"))
			}
		}
		return true
	})
	return wrong
}

func checkInit(f *houseFile) []string {
	var wrong []string
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
			wrong = append(wrong, f.at(fn, "init: say it where the program starts"))
		}
	}
	return wrong
}

// checkOutput: only programs print and exit (hostile plays processes).
func checkOutput(f *houseFile) []string {
	if f.test || f.in("cmd", "examples", "internal/cli", "bench", "tools", "internal/test/hostile", "internal/test/mcpfixtures") {
		return nil
	}
	var wrong []string
	for _, s := range slices.Concat(f.uses("fmt", "Print", "Printf", "Println"), f.uses("os", "Exit", "Stdout"), f.uses("log")) {
		wrong = append(wrong, f.at(s, "%s.%s: a library neither prints nor exits", s.X, s.Sel.Name))
	}
	return wrong
}

// checkSkips: one way to skip, so that strictness holds and reasons are given.
func checkSkips(f *houseFile) []string {
	if f.in("internal/test/need") {
		return nil
	}
	var wrong []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) && f.importName("testing") != "" {
				wrong = append(wrong, f.at(s, "%s: say what the test needs with internal/test/need", s.Sel.Name))
			}
		}
		return true
	})
	return wrong
}

// unfinished are the words by which work is put off.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// checkPromises: a comment says what holds, not what somebody should do one day.
func checkPromises(f *houseFile) []string {
	var wrong []string
	for _, group := range f.ast.Comments {
		if word := unfinished.FindString(group.Text()); word != "" {
			wrong = append(wrong, f.at(group, "%s: do it, or refuse it with unsupported and a sentence", word))
		}
	}
	return wrong
}
