package supervision_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallTree is a module in which some things have no user.
var smallTree = map[string]string{
	"go.mod": "module small\n\ngo 1.26.0\n",
	"small.go": `package small

import "small/internal/dialect/d"

// Public is what programs import.
func Public() { d.ForPrograms() }
`,
	"cmd/small/main.go": `package main

import (
	"fmt"

	"small/internal/dialect/d"
)

func main() {
	s := d.New(d.Options{Set: 1, Nested: d.DefaultSettings()})
	var shown fmt.Stringer = s
	fmt.Println(shown, d.Used())
}
`,
	"internal/dialect/d/d.go": `package d

import "time"

type Options struct {
	Set, Unset int
	Nested     Settings
	Now        func() time.Time
}

type Settings struct{ Default int }

func DefaultSettings() Settings { return Settings{Default: 1} }

type base struct{}

func (base) String() string { return inner() }

type Session struct {
	base
	o Options
}

func New(o Options) *Session {
	if o.Unset == 0 {
		o.Unset = 1
	}
	return &Session{o: o}
}

func (s *Session) Method() int { return behind() }

var table = []func() int{inTable}

func Used() int    { return table[0]() }
func inTable() int { return 1 }
func inner() string { return "" }
func behind() int  { return 1 }
func ForPrograms() {}
func ForTests()    {}
`,
	"internal/test/kit/kit.go": "package kit\n\nimport \"small/internal/dialect/d\"\n\nfunc Play() { d.ForTests() }\n",
	"internal/dialect/d/d_test.go": `package d

import "testing"

func TestUsed(t *testing.T)   { Used(); New(Options{Set: 1}) }
func TestMethod(t *testing.T) { helper(New(Options{})) }
func TestOption(t *testing.T) { New(Options{Unset: 2}) }

func helper(s *Session) { s.Method() }
`,
	"internal/dialect/d/outside_test.go": `package d_test

import (
	"testing"

	"small/internal/dialect/d"
)

func TestOutside(t *testing.T)     { d.New(d.Options{}).Method() }
func TestOutsideUsed(t *testing.T) { d.Used() }
`,
}

// TestHouseReachBites: what has no user is found, and nothing else; so are the tests that use it.
func TestHouseReachBites(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range smallTree {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	tree := loadTypedTree(t, dir)
	found := tree.unused()
	var names []string
	for _, u := range found {
		names = append(names, u.String())
	}
	const in = "internal/dialect/d"
	require.Equal(t, []string{in + "/d.go Options.Unset", in + "/d.go Session.Method", in + "/d.go Settings.Default", in + "/d.go behind"}, names)
	require.Equal(t, map[citedTest]bool{{in, "TestMethod"}: true, {in, "TestOption"}: true, {in, "TestOutside"}: true}, tree.libraryTests(found))
}
