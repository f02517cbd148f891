package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
)

// literals calls yield for each text of the program in a directory. hint says whether the
// text is one of an error's hint.
func literals(t *testing.T, dir string, yield func(file, text string, hint bool)) {
	t.Helper()
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		hints := map[ast.Node]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
					hints[n.Value] = true
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if field, ok := to.(*ast.SelectorExpr); ok && field.Sel.Name == "Hint" && i < len(n.Rhs) {
						hints[n.Rhs[i]] = true
					}
				}
			case *ast.BinaryExpr:
				hints[n.X], hints[n.Y] = hints[n], hints[n]
			case *ast.CallExpr: // fmt.Sprintf
				for _, arg := range n.Args {
					hints[arg] = hints[n]
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					yield(path, text, hints[n])
				}
			}
			return true
		})
		return nil
	}))
}

var (
	verbNamed = regexp.MustCompile(`\btroupe ([a-z]+)\b`)
	flagNamed = regexp.MustCompile(`(^|[ (])--([a-z][a-z-]+)`)
	toolNamed = regexp.MustCompile(`\b[Tt]he (?:tool ([a-z_]+)|([a-z_]+) tool)\b`)
)

// A hint names verbs and flags that the program has. A text for a model names tools that its
// dialect has.
func TestHintsNameWhatExists(t *testing.T) {
	t.Parallel()
	names, flags := []string{"run", "mcp"}, map[string]bool{"help": true}
	root := verb(t, "")
	for _, cmd := range append(root.Commands(), root) {
		names = append(names, cmd.Name())
		names = append(names, cmd.Aliases...)
		for _, named := range flagNamed.FindAllStringSubmatch(cmd.Flags().FlagUsages()+cmd.PersistentFlags().FlagUsages(), -1) {
			flags[named[2]] = true
		}
	}
	hints := 0
	literals(t, "../..", func(file, text string, hint bool) {
		if !hint {
			return
		}
		hints++
		for _, named := range verbNamed.FindAllStringSubmatch(text, -1) {
			if !slices.Contains([]string{"that", "retries", "gives"}, named[1]) { // words after the name
				require.Contains(t, names, named[1], "%s: %s", file, text)
			}
		}
		for _, named := range flagNamed.FindAllStringSubmatch(text, -1) {
			require.True(t, flags[named[2]], "%s: %s", file, text)
		}
	})
	require.Greater(t, hints, 100)

	var tools []string
	for _, tool := range core.Tools(nil) {
		tools = append(tools, tool.Name)
	}
	for dir, has := range map[string][]string{
		"../../internal/dialect/core": tools, "../../internal/gateway/mcp": tools, "../../internal/dialect/omp": {"bash", "job"},
		"../../internal/dialect/opencode": {"bash", "view", "tasklist", "taskstop"}, "../../internal/dialect/copilot": {},
	} {
		literals(t, dir, func(file, text string, _ bool) {
			for _, named := range toolNamed.FindAllStringSubmatch(text, -1) {
				require.Contains(t, append(has, "failed"), named[1]+named[2], "%s: %s", file, text)
			}
		})
	}
}
