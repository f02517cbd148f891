package supervision_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// libraryTests returns the tests that use what has no user, by themselves or by a function of
// their package's tests, by folder and name. What such a test shows, no front end has. A test of
// the command shows what a user has, whatever it reads that with.
func (tree *typedTree) libraryTests(found []unusedName) map[citedTest]bool {
	unused := map[token.Pos]bool{}
	for _, u := range found {
		unused[u.at] = true
	}
	tests := map[citedTest]bool{}
	for _, p := range tree.packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, tree.module), "/")
		if under(folder, "cmd") || len(p.inside)+len(p.outside) == 0 {
			continue
		}
		info := tree.tests(p)
		uses := map[types.Object][]types.Object{}
		for _, file := range slices.Concat(p.inside, p.outside) {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok {
					uses[info.Defs[f.Name]] = used(f, info)
				}
			}
		}
		for f := range uses {
			if f != nil && strings.HasPrefix(f.Name(), "Test") && reaches(f, uses, unused) {
				tests[citedTest{folder, f.Name()}] = true
			}
		}
	}
	return tests
}

// used returns the objects that a function mentions.
func used(f *ast.FuncDecl, info *types.Info) (objects []types.Object) {
	ast.Inspect(f, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && info.Uses[name] != nil {
			objects = append(objects, info.Uses[name])
		}
		return true
	})
	return objects
}

// reaches reports whether a function mentions one of the places, or one that does.
func reaches(f types.Object, uses map[types.Object][]types.Object, places map[token.Pos]bool) bool {
	seen := map[types.Object]bool{}
	for todo := []types.Object{f}; len(todo) > 0; {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if places[f.Pos()] {
			return true
		}
		if !seen[f] {
			seen[f] = true
			todo = append(todo, uses[f]...)
		}
	}
	return false
}
