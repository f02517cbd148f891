package supervision_test

import (
	"go/ast"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHouseFigures prints what the house measures: go test ./supervision_test -run TestHouseFigures -v
func TestHouseFigures(t *testing.T) {
	files := houseTree(t, "..")
	lines, counts := map[string]int{}, map[string]int{}
	folders := map[string][]*houseFile{}
	for _, f := range files {
		lines[part(f)] += strings.Count(f.text, "\n")
		if f.test {
			continue
		}
		folders[f.folder] = append(folders[f.folder], f)
		for _, c := range houseCensuses {
			counts[c.name] += c.count(f)
		}
	}
	for _, kind := range []string{"product", "kits", "bench", "tools", "tests"} {
		t.Logf("lines of %s: %d", kind, lines[kind])
	}
	for _, c := range houseCensuses {
		t.Logf("%s: %d", c.name, counts[c.name])
	}
	public := 0
	for folder, in := range folders {
		if !isInternal(in[0]) && in[0].ast.Name.Name != "main" && folder != "bench" {
			public++
		}
	}
	t.Logf("folders: %d, public: %d", len(folders), public)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if up, all := arrowsUp(folders[folder]); up > 0 {
			t.Logf("%s: %d files, %d arrows, %d of them up", shownFolder(folder), len(folders[folder]), all, up)
		}
	}
	if testing.Verbose() {
		t.Logf("verbs: %d, flags of run: %d", helpLines(t, "  [a-z]+  +[A-Z]", "help"), helpLines(t, "(  -.,|     ) --", "run", "--help"))
	}
}

// part is what a file's lines count for.
func part(f *houseFile) string {
	switch {
	case f.test:
		return "tests"
	case f.in("bench"):
		return "bench"
	case f.in("tools"):
		return "tools"
	case f.in("internal/test", "internal/test/fake", "internal/test/conformance", "internal/test/enginetest", "internal/test/dialect",
		"internal/test/mcptest", "internal/test/need"):
		return "kits"
	}
	return "product"
}

// helpLines counts the lines of a help text that begin like that, before the topics.
func helpLines(t *testing.T, begin string, args ...string) int {
	t.Helper()
	out, err := exec.Command("go", append([]string{"run", "../cmd/troupe"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(out), "\nTopics ")
	return len(regexp.MustCompile(`(?m)^`+begin).FindAllString(text, -1))
}

// arrowsUp counts the uses between the files of a folder, and those against the order in which the files can best be
// read: a file that uses another stands above it, and an arrow up closes a circle. Names are matched as text, so a
// method counts where one file alone declares its name.
func arrowsUp(files []*houseFile) (up, all int) {
	owner := map[string]int{} // a name and the file that declares it; -1: several do
	for i, f := range files {
		for _, name := range packageNames(f) {
			if _, taken := owner[name]; taken {
				owner[name] = -1
			} else {
				owner[name] = i
			}
		}
	}
	uses := make([]map[int]bool, len(files))
	for i, f := range files {
		uses[i] = map[int]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if o, known := owner[id.Name]; known && o >= 0 && o != i {
					uses[i][o] = true
				}
			}
			return true
		})
	}
	place := readingOrder(uses)
	for i := range uses {
		for o := range uses[i] {
			all++
			if place[o] < place[i] {
				up++
			}
		}
	}
	return up, all
}

// packageNames are the functions, methods, types, variables and constants that a file declares.
func packageNames(f *houseFile) []string {
	var names []string
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names
}

// readingOrder places the files so that few arrows run up: again and again a file that nothing left uses goes to the
// front, or else the one that uses most more than it is used.
func readingOrder(uses []map[int]bool) []int {
	place := make([]int, len(uses))
	left := map[int]bool{}
	for i := range uses {
		left[i] = true
	}
	for next := 0; len(left) > 0; next++ {
		best, most := -1, 0
		for _, i := range slices.Sorted(maps.Keys(left)) {
			score := 0
			used := 0
			for o := range left {
				if uses[i][o] {
					score++
				}
				if uses[o][i] {
					used++
				}
			}
			if score -= used; used == 0 {
				score += len(uses)
			}
			if best < 0 || score > most {
				best, most = i, score
			}
		}
		place[best] = next
		delete(left, best)
	}
	return place
}
