package http

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net"
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
		if !ok || fn.Name.Name != "matches" {
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
		{[]string{"bearer secret"}, true},
		{[]string{"BEARER  secret"}, true},
		{[]string{"Bearersecret"}, false},
		{[]string{"Bearer"}, false},
		{[]string{"Basic secret"}, false},
		{[]string{" Bearer secret"}, false},
		{[]string{"Bearer secret", "Bearer secret"}, false},
	} {
		require.Equal(t, c.want, Token{Secret: "secret"}.matches(c.given), "%q", c.given)
	}
	require.False(t, Token{}.matches([]string{"Bearer "}), "no token admits nobody")
}

// A Host names the address and its port, which a client leaves out if it is that of http;
// an address that no Host may name is not listened on.
func TestSecurityHostOfAPort(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "[::1]": true, "127.0.0.1:80": true, "[::1]:80": true,
		"": false, "127.0.0.2": false, "127.0.0.1:81": false, "evil": false, "::1": false,
	} {
		require.Equal(t, want, ourHost(&net.TCPAddr{Port: 80}, host), host)
		require.False(t, ourHost(&net.TCPAddr{Port: 8080}, host), host)
	}
	for _, address := range []string{"127.0.0.2:0", "[::ffff:127.0.0.1]:0", "0.0.0.0:0", "localhost:0"} {
		_, err := ListenTCP(address)
		require.ErrorContains(t, err, "not a loopback address", address)
	}
}
