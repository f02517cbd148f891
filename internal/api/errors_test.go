package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Every code has its status: one that is added to messages must be given one.
func TestStatusOfEveryCode(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../messages/errors.go", nil, 0)
	require.NoError(t, err)
	codes := 0
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		status, ok := statuses()[messages.Code(code)]
		require.True(t, ok, "%s has no status", code)
		require.GreaterOrEqual(t, status, 400)
		require.Equal(t, status, Status(&messages.Error{Code: messages.Code(code), Reason: "whatever"}))
		codes++
		return true
	})
	require.Len(t, statuses(), codes)
	require.Equal(t, 500, Status(&messages.Error{Code: "unheard of"}))
	for reason, want := range map[string]int{"rate": 429, "subscriptions": 503, "connections": 503} { // as docs/api.md has it
		require.Equal(t, want, Status(&messages.Error{Code: messages.ResourceExhausted, Reason: reason}))
	}
	require.Equal(t, 401, Status(&messages.Error{Code: messages.Refused, Reason: "token"}))
	require.Equal(t, 415, Status(&messages.Error{Code: messages.InvalidParams, Reason: "content_type"}))
	require.Equal(t, 405, Status(&messages.Error{Code: messages.Unsupported, Reason: "method"}))
}
