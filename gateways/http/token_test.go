package http

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// S10: a token is compared in a time that tells nothing of it, and never by ==.
func TestSecurityTokenComparison(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "token.go", nil, 0)
	require.NoError(t, err)
	constant, plain := 0, 0
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "tokenMatches" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "ConstantTimeCompare" {
					constant++
				}
			case *ast.BinaryExpr:
				for _, side := range []ast.Expr{n.X, n.Y} {
					if name, ok := side.(*ast.Ident); ok && name.Name == "got" {
						plain++
					}
				}
			}
			return true
		})
	}
	require.Equal(t, 1, constant)
	require.Zero(t, plain)
	for _, c := range []struct {
		given []string
		want  bool
	}{
		{nil, false},
		{[]string{"Bearer secret"}, true},
		{[]string{"Bearer secre"}, false},
		{[]string{"Bearer secret "}, false},
		{[]string{"secret"}, false},
		{[]string{"bearer secret"}, false},
		{[]string{"Bearer secret", "Bearer secret"}, false},
	} {
		require.Equal(t, c.want, tokenMatches("secret", c.given), "%q", c.given)
	}
	require.False(t, tokenMatches("", []string{"Bearer "}), "no token admits nobody")
}
