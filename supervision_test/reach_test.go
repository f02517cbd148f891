package supervision_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// publicFolders are what programs import: what they export is used by definition.
var publicFolders = []string{"", "messages", "host", "client", "spill", "spill/view"}

// playedOptions are set by tests alone, which play several clients of one store.
var playedOptions = []string{"internal/gateway/mcp/tasks/store.go Options.Client"}

// TestHouseReachesEverything: a function that the linker finds unreachable from the command, a
// method that nothing calls, and an option that no front end sets, have no user.
func TestHouseReachesEverything(t *testing.T) {
	tree := loadTypedTree(t, "..")
	for _, f := range tree.unused() {
		t.Errorf("%s has no user: remove it, or let a front end use it", f)
	}
	type deadPackage struct {
		Funcs []struct {
			Name     string
			Position struct{ File string }
		}
	}
	filter := "^" + tree.module + "/(actors|backends|cmd|contrib|docs|internal)(/|$)"
	for dead := range decoded[[]deadPackage](t, goCommand("..", "tool", "-modfile=tools/go.mod", "deadcode", "-json", "-filter", filter, "./cmd/troupe")) {
		for _, p := range dead {
			for _, f := range p.Funcs {
				t.Errorf("deadcode: %s is unreachable from the command: remove it, or let a front end use it", unusedName{place: f.Position.File, name: f.Name})
			}
		}
	}
}

// unusedName is a function, or an option that is set by its own package alone.
type unusedName struct {
	at          token.Pos
	place, name string // file from the root; function, or type and field
}

func (u unusedName) String() string { return u.place + " " + u.name }

// unused returns the functions that nothing reaches and the options that nothing sets.
func (tree *typedTree) unused() []unusedName {
	found := append(tree.unreachable(), tree.unset()...)
	slices.SortFunc(found, func(a, b unusedName) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// methodName returns the name of a function, after that of its type.
func methodName(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	of := recv.Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	return of.(*types.Named).Obj().Name() + "." + f.Name()
}

// reachGraph has what each function, type and variable mentions.
type reachGraph struct {
	*typedTree
	mentions map[types.Object][]types.Object
	roots    []types.Object
	funcs    map[*types.Func]bool // those that must be reached
	promises map[string][]*types.Interface
}

// unreachable returns the functions that no chain of mentions leads to: from main, from what
// the public folders export, or from the kits of tests. Unlike the linker it does not take each
// exported method of a value in an interface for called. It is called if an interface has it.
func (tree *typedTree) unreachable() []unusedName {
	g := &reachGraph{typedTree: tree, mentions: map[types.Object][]types.Object{}, funcs: map[*types.Func]bool{}, promises: tree.interfaceMethods()}
	for _, p := range tree.packages {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				g.declare(p, decl)
			}
		}
		g.methods(tree.checked[p.ImportPath])
	}
	reached := map[types.Object]bool{}
	for todo := g.roots; len(todo) > 0; {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[o] {
			reached[o] = true
			todo = append(todo, g.mentions[o]...)
		}
	}
	var found []unusedName
	for f := range g.funcs {
		if !reached[f] {
			found = append(found, unusedName{f.Pos(), tree.place(f.Pos()), methodName(f)})
		}
	}
	return found
}

// declare adds one declaration. Methods are roots only in kits of tests.
func (g *reachGraph) declare(p *listedPackage, decl ast.Decl) {
	kit := under(p.ImportPath, g.module+"/internal/test") || under(p.ImportPath, g.module+"/examples")
	public := slices.Contains(publicFolders, strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, g.module), "/"))
	add := func(name *ast.Ident, body ast.Node) {
		o := g.info.Defs[name]
		g.mention(o, body)
		if kit || name.Name == "_" || public && name.IsExported() {
			g.roots = append(g.roots, o)
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		method := d.Recv != nil
		f := g.info.Defs[d.Name].(*types.Func)
		g.mention(f, d)
		if !kit && d.Body != nil && len(d.Body.List) > 0 {
			g.funcs[f] = true
		}
		if kit || !method && (d.Name.Name == "main" || d.Name.Name == "init" || public && d.Name.IsExported()) {
			g.roots = append(g.roots, f)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name, s.Type)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					add(name, s)
				}
			}
		}
	}
}

// mention notes what a piece of code refers to.
func (g *reachGraph) mention(from types.Object, code ast.Node) {
	ast.Inspect(code, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			switch o := g.info.Uses[name].(type) {
			case *types.Func:
				g.mentions[from] = append(g.mentions[from], o.Origin())
			case *types.Var, *types.TypeName, *types.Const:
				g.mentions[from] = append(g.mentions[from], o)
			}
		}
		return true
	})
}

// methods has each type mention the methods by which it is an interface, and of a type of the
// public folders those that are exported. Errors are asked for Unwrap and Is by name.
func (g *reachGraph) methods(p *types.Package) {
	public := slices.Contains(publicFolders, strings.TrimPrefix(strings.TrimPrefix(p.Path(), g.module), "/"))
	for _, name := range p.Scope().Names() {
		declared, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		named, ok := types.Unalias(declared.Type()).(*types.Named)
		if !ok || types.IsInterface(named) {
			continue
		}
		pointer := types.NewPointer(named)
		for method := range types.NewMethodSet(pointer).Methods() {
			f := method.Obj().(*types.Func)
			if public && declared.Exported() && f.Exported() || f.Name() == "Unwrap" || f.Name() == "Is" || named.TypeParams().Len() > 0 && g.promises[f.Name()] != nil ||
				slices.ContainsFunc(g.promises[f.Name()], func(i *types.Interface) bool { return types.Implements(pointer, i) }) {
				g.mentions[declared] = append(g.mentions[declared], f.Origin())
			}
		}
	}
}

// interfaceMethods returns the interfaces of the module and of what it imports, by method.
func (tree *typedTree) interfaceMethods() map[string][]*types.Interface {
	all := map[*types.Interface]bool{types.Universe.Lookup("error").Type().Underlying().(*types.Interface): true}
	seen := map[*types.Package]bool{}
	var look func(p *types.Package)
	look = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			if declared, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
				if i, ok := declared.Type().Underlying().(*types.Interface); ok {
					all[i] = true
				}
			}
		}
		for _, imported := range p.Imports() {
			look(imported)
		}
	}
	for _, p := range tree.checked {
		look(p)
	}
	for code, t := range tree.info.Types {
		if _, ok := code.(*ast.InterfaceType); ok {
			all[t.Type.(*types.Interface)] = true
		}
	}
	methods := map[string][]*types.Interface{}
	for i := range maps.Keys(all) {
		for m := range i.Methods() {
			methods[m.Name()] = append(methods[m.Name()], i)
		}
	}
	return methods
}
