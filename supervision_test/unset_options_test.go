package supervision_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// unset returns the options of dialects and gateways that only their own package sets, which
// fills in a default. Clocks and chance are for tests, as are the bounds of gateways: numbers
// that tests make small.
func (tree *typedTree) unset() []unusedName {
	set := tree.setFields()
	var found []unusedName
	for _, p := range tree.packages {
		dialect, gateway := under(p.ImportPath, tree.module+"/internal/dialect"), under(p.ImportPath, tree.module+"/internal/gateway")
		if !dialect && !gateway {
			continue
		}
		scope := tree.checked[p.ImportPath].Scope()
		for _, name := range scope.Names() {
			declared, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || !isOptions(name) {
				continue
			}
			fields, ok := declared.Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for field := range fields.Fields() {
				u := unusedName{field.Pos(), tree.place(field.Pos()), name + "." + field.Name()}
				if field.Exported() && !set[field] && !isClock(field.Type()) && !(gateway && isNumber(field.Type())) && !slices.Contains(playedOptions, u.String()) {
					found = append(found, u)
				}
			}
		}
	}
	return found
}

func isOptions(name string) bool {
	return slices.ContainsFunc([]string{"Options", "Settings", "Config"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

func isNumber(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// isClock reports whether a type is a function of nothing: of the time, or of chance.
func isClock(t types.Type) bool {
	f, ok := t.Underlying().(*types.Signature)
	return ok && f.Params().Len() == 0 && f.Results().Len() == 1
}

// setFields returns the fields that the code sets: in a literal, by an assignment, or through
// their address. Those of options count where another package sets them. A Config is made by
// functions of its own package, which front ends choose from.
func (tree *typedTree) setFields() map[*types.Var]bool {
	set, configs := map[*types.Var]bool{}, tree.configFields()
	for _, p := range tree.packages {
		if under(p.ImportPath, tree.module+"/internal/test") || under(p.ImportPath, tree.module+"/examples") {
			continue
		}
		mark := func(code ast.Expr) {
			var name *ast.Ident
			switch e := code.(type) {
			case *ast.Ident:
				name = e
			case *ast.SelectorExpr:
				name = e.Sel
			default:
				return
			}
			if field, ok := tree.info.Uses[name].(*types.Var); ok && field.IsField() && (field.Pkg().Path() != p.ImportPath || configs[field]) {
				set[field.Origin()] = true
			}
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					mark(n.Key)
				case *ast.AssignStmt:
					for _, to := range n.Lhs {
						markChain(to, mark)
					}
				case *ast.UnaryExpr:
					if n.Op == token.AND {
						markChain(n.X, mark)
					}
				}
				return true
			})
		}
	}
	return set
}

// markChain marks all fields of a chain of selectors: a.B.C sets B and C.
func markChain(code ast.Expr, mark func(ast.Expr)) {
	for {
		switch e := code.(type) {
		case *ast.SelectorExpr:
			mark(e)
			code = e.X
		case *ast.IndexExpr:
			code = e.X
		default:
			return
		}
	}
}

// configFields returns the fields of each Config.
func (tree *typedTree) configFields() map[*types.Var]bool {
	all := map[*types.Var]bool{}
	for _, p := range tree.checked {
		for _, name := range p.Scope().Names() {
			if fields, ok := p.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok && strings.HasSuffix(name, "Config") {
				for f := range fields.Fields() {
					all[f] = true
				}
			}
		}
	}
	return all
}
