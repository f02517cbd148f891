package omp

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
)

// Every sentence is pinned, also those that are rarely said.
func TestEverySentenceIsPinned(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "texts.go", nil, 0)
	require.NoError(t, err)
	pkg, err := (&types.Config{}).Check("omp", files, []*ast.File{file}, nil)
	require.NoError(t, err)
	var b strings.Builder
	for _, name := range pkg.Scope().Names() {
		fmt.Fprintf(&b, "%s = %q\n", name, constant.StringVal(pkg.Scope().Lookup(name).(*types.Const).Val()))
	}
	dialecttest.Golden(t, "omp/texts.txt", b.String())
}

// The tools are what a model is shown of this dialect.
func TestGoldenTools(t *testing.T) {
	var b strings.Builder
	for _, with := range []with{func(*Options, *JobsOptions) {}, async} {
		for _, tool := range newRig(t, with).Tools() {
			schema, err := json.MarshalIndent(tool.Schema, "", "  ")
			require.NoError(t, err)
			fmt.Fprintf(&b, "%s (%s)\n%s\nread-only %v, destructive %v, idempotent %v, open world %v\n%s\n\n", tool.Name, tool.Title, tool.Description, tool.ReadOnly, tool.Destructive, tool.Idempotent, tool.OpenWorld, schema)
		}
	}
	dialecttest.Golden(t, "omp/tools.txt", b.String())
}
