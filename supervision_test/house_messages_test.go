package supervision_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// messageName finds the name of a message's type in a text: tests hold, drop and
// pardon messages by it.
var messageName = regexp.MustCompile(`^"\*?(?:routed:)?(actors|lifecycle|messages)\.(\w+)"$`)

// TestHouseMessageNames checks that each message which a test names exists. A fault
// for one that was renamed would never happen, and the test would prove nothing.
func TestHouseMessageNames(t *testing.T) {
	tree := houseTree(t, "..")
	types := map[string][]string{}
	for _, f := range tree {
		if !f.test {
			pkg := f.ast.Name.Name
			types[pkg] = append(types[pkg], declared(f)...)
		}
	}
	found := 0
	for _, f := range tree {
		if !f.in("supervision_test") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			m := messageName.FindStringSubmatch(lit.Value)
			if m == nil || strings.HasSuffix(lit.Value, `messages.Command"`) { // a prefix of names
				return true
			}
			if found++; !slices.Contains(types[m[1]], m[2]) {
				t.Errorf("%s: no message %s.%s is declared", f.path, m[1], m[2])
			}
			return true
		})
	}
	if found == 0 {
		t.Error("no test names a message")
	}
}
