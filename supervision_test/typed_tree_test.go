package supervision_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// listedPackage is a package of the module as go list describes it.
type listedPackage struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Module                             *struct {
		Main      bool
		Path, Dir string
	}
	files, inside, outside []*ast.File // GoFiles, TestGoFiles, XTestGoFiles
}

// typedTree is the module with its types, as it is built for Linux.
type typedTree struct {
	dir      string
	module   string // its path
	root     string // its directory, as go list names it
	set      *token.FileSet
	packages []*listedPackage // each after those that it imports
	checked  map[string]*types.Package
	info     *types.Info // of all files but those of tests
	exports  map[string]string
	compiled types.Importer
}

// loadTypedTree checks the types of all packages of the module in a directory.
func loadTypedTree(t *testing.T, dir string) *typedTree {
	t.Helper()
	tree := &typedTree{
		dir: dir, set: token.NewFileSet(),
		checked: map[string]*types.Package{}, info: newTypesInfo(), exports: map[string]string{},
	}
	tree.compiled = importer.ForCompiler(tree.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(tree.exports[path]) })
	tree.list(t, "./...")
	tests := map[string]bool{}
	for _, p := range tree.packages {
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			tests[path] = tree.exports[path] == "" && !under(path, tree.module) && path != "C" && path != "unsafe"
		}
	}
	maps.DeleteFunc(tests, func(_ string, needed bool) bool { return !needed })
	tree.list(t, slices.Sorted(maps.Keys(tests))...)
	for _, p := range tree.packages {
		p.files = tree.parse(t, p.Dir, p.GoFiles)
		p.inside, p.outside = tree.parse(t, p.Dir, p.TestGoFiles), tree.parse(t, p.Dir, p.XTestGoFiles)
		checked, err := (&types.Config{Importer: treeImporter{tree, nil}}).Check(p.ImportPath, tree.set, p.files, tree.info)
		if err != nil {
			t.Fatal(err)
		}
		tree.checked[p.ImportPath] = checked
	}
	return tree
}

// list adds what go list says of packages and of all that they import.
func (tree *typedTree) list(t *testing.T, patterns ...string) {
	t.Helper()
	fields := "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports,Module"
	for p := range decoded[listedPackage](t, goCommand(tree.dir, append([]string{"list", "-export", "-deps", fields}, patterns...)...)) {
		if p.Module != nil && p.Module.Main {
			tree.packages = append(tree.packages, &p)
			tree.module, tree.root = p.Module.Path, p.Module.Dir
		} else {
			tree.exports[p.ImportPath] = p.Export
		}
	}
}

// goCommand returns a go command in a directory, for Linux.
func goCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	if cmd.Env = os.Environ(); runtime.GOOS != "linux" {
		cmd.Env = append(cmd.Env, "GOOS=linux", "CGO_ENABLED=0")
	}
	return cmd
}

// decoded returns the JSON values that a command prints.
func decoded[T any](t *testing.T, cmd *exec.Cmd) func(func(T) bool) {
	t.Helper()
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", cmd.Args[:2], err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return func(yield func(T) bool) {
		for values := json.NewDecoder(bytes.NewReader(out)); ; {
			var v T
			if err := values.Decode(&v); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			if !yield(v) {
				return
			}
		}
	}
}

func newTypesInfo() *types.Info {
	return &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
}

func (tree *typedTree) parse(t *testing.T, dir string, names []string) (files []*ast.File) {
	t.Helper()
	for _, name := range names {
		file, err := parser.ParseFile(tree.set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// tests returns the types in the test files of a package. What it declares has the places that
// it has in the tree. An error of types costs the names around it: packages that import the
// tested one see it without its test files.
func (tree *typedTree) tests(p *listedPackage) *types.Info {
	info := newTypesInfo()
	forgiving := func(own *types.Package) *types.Config {
		return &types.Config{Importer: treeImporter{tree, own}, Error: func(error) {}}
	}
	own := tree.checked[p.ImportPath]
	if len(p.inside) > 0 {
		own, _ = forgiving(nil).Check(p.ImportPath, tree.set, slices.Concat(p.files, p.inside), info)
	}
	if len(p.outside) > 0 {
		_, _ = forgiving(own).Check(p.ImportPath+"_test", tree.set, p.outside, info)
	}
	return info
}

// treeImporter finds packages of the module by their types, others by what is compiled.
type treeImporter struct {
	tree *typedTree
	own  *types.Package // in place of the one with its path; nil: none
}

func (i treeImporter) Import(path string) (*types.Package, error) {
	switch {
	case path == "unsafe":
		return types.Unsafe, nil
	case i.own != nil && path == i.own.Path():
		return i.own, nil
	case i.tree.checked[path] != nil:
		return i.tree.checked[path], nil
	}
	return i.tree.compiled.Import(path)
}

// place returns the file of a position, from the root of the module.
func (tree *typedTree) place(at token.Pos) string {
	rel, err := filepath.Rel(tree.root, tree.set.Position(at).Filename)
	if err != nil {
		panic(err) // files of the module are below its root
	}
	return filepath.ToSlash(rel)
}
