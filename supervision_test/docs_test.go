package supervision_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readDoc gives the text of a file of the tree.
func readDoc(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocsTellTheFolders: the table of docs/architecture.md has each folder of the tree,
// and no folder that is not there.
func TestDocsTellTheFolders(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	var told []string
	for _, m := range row.FindAllStringSubmatch(readDoc(t, "docs", "architecture.md"), -1) {
		folder := filepath.Clean(m[1])
		told = append(told, folder)
		if info, err := os.Stat(filepath.Join("..", folder)); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md tells of the folder %s, which is not there", m[1])
		}
	}
	for _, f := range houseTree(t, "..") {
		if folder := filepath.Clean(f.folder); !slices.Contains(told, folder) {
			t.Errorf("docs/architecture.md does not tell of the folder %s", folder)
			told = append(told, folder)
		}
	}
}

// TestDocsLinksLead: what a document points at inside the tree is there.
func TestDocsLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], ":") {
				continue // outside the tree
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocsDecisionsAreOnePage: context, decision, consequence, 30 lines, and a
// number of its own.
func TestDocsDecisionsAreOnePage(t *testing.T) {
	const page = 40
	entries, err := os.ReadDir("../docs/decisions")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^(\d{3})-[a-z0-9-]+\.md$`)
	seen := map[string]bool{}
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil || seen[m[1]] {
			t.Errorf("%s: want NNN-title.md, each number once", e.Name())
			continue
		}
		seen[m[1]] = true
		text := readDoc(t, "docs", "decisions", e.Name())
		if lines := strings.Count(text, "\n"); lines > page {
			t.Errorf("%s has %d lines, at most %d", e.Name(), lines, page)
		}
		if !strings.HasPrefix(text, "# "+m[1]+" ") {
			t.Errorf("%s does not begin with its number and title", e.Name())
		}
		for _, part := range []string{"**Context.**", "**Decision.**", "**Consequence.**"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s", e.Name(), part)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("no decision found")
	}
}

// TestDocsJustifyEachDependency: what any file imports from outside stands in
// decision 005, with its reason.
func TestDocsJustifyEachDependency(t *testing.T) {
	entry := regexp.MustCompile("(?m)^- `([^`]+)`: .+")
	var justified []string
	for _, m := range entry.FindAllStringSubmatch(readDoc(t, "docs", "decisions", "005-dependencies.md"), -1) {
		justified = append(justified, m[1])
		if !strings.Contains(readDoc(t, "go.mod")+readDoc(t, "tools", "go.mod")+readDoc(t, "tools", "dist", "go.mod"), m[1]+" v") {
			t.Errorf("decision 005 justifies %s, which go.mod does not require", m[1])
		}
	}
	for _, f := range houseTree(t, "..") {
		for _, path := range f.imports() {
			first, _, _ := strings.Cut(path, "/")
			known := slices.ContainsFunc(justified, func(module string) bool { return under(path, module) })
			if strings.Contains(first, ".") && !known {
				t.Errorf("%s imports %s, which decision 005 does not justify", f.path, path)
			}
		}
	}
}

// TestDocsFaultsAreTested: each test that the page of faults names is there, and each of
// the catalogue stands on that page.
func TestDocsFaultsAreTested(t *testing.T) {
	there, named := map[string]bool{}, map[string]bool{}
	prefixes := []string{"TestFault", "TestBadInput", "TestSecurity"}
	for _, m := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(readDoc(t, "docs", "faults.md"), -1) {
		named[m[1]] = true
	}
	for _, f := range houseTree(t, "..") {
		for _, decl := range f.ast.Decls {
			test, ok := decl.(*ast.FuncDecl)
			if !ok || !f.test || test.Recv != nil {
				continue
			}
			name := test.Name.Name
			there[name] = true
			catalogue := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
			if catalogue && !named[name] && f.folder != "tools/testsum" { // whose own tests play some
				t.Errorf("%s: %s stands nowhere in docs/faults.md: say there which entry it proves", f.path, name)
			}
		}
	}
	for name := range named {
		if !there[name] && !slices.Contains(prefixes, name) {
			t.Errorf("docs/faults.md tells of %s, which is not there", name)
		}
	}
	if len(named) < 50 {
		t.Errorf("docs/faults.md tells of %d tests only", len(named))
	}
}

// TestDocsNamedInCodeAreThere: a comment or a document names only documents of the tree.
func TestDocsNamedInCodeAreThere(t *testing.T) {
	document := regexp.MustCompile(`[\w./-]*\w\.md\b`)
	there := map[string]bool{"SKILL.md": true, "notes.md": true} // of a user's skill, of an example
	var texts []string
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(name) == ".md":
			there[d.Name()] = true
			texts = append(texts, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range document.FindAllString(string(text), -1) {
			if !there[filepath.Base(named)] {
				t.Errorf("%s names %s, which is not in the tree", name, named)
			}
		}
	}
	for _, f := range houseTree(t, "..") {
		for _, group := range f.ast.Comments {
			for _, named := range document.FindAllString(group.Text(), -1) {
				if !there[filepath.Base(named)] {
					t.Errorf("%s names %s, which is not in the tree", f.path, named)
				}
			}
		}
	}
}
