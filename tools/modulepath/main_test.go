package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The path changes in go.mod files, imports and documents that name the module. Texts that only
// look so stay, and a second change finds what the first has written.
func TestThePathChangesWhereItIsOne(t *testing.T) {
	dir := t.TempDir()
	const goFile = `package p

import (
	"fmt"

	"MODULE"
	n "MODULE/internal/node" // for tests
	"troupelike/x"
)

// Socket is no package.
const Socket = "troupe/daemon.sock"

var _, _, _, _ = fmt.Sprint, troupe.Open, n.Open, x.X
`
	const page = "**Go.** `go mod edit -require=MODULE@v0.0.0 -replace=MODULE=PATH`, `go install MODULE/cmd/troupe@latest`.\n" +
		"The Go client is `MODULE/client`. `$XDG_RUNTIME_DIR/troupe/daemon.sock`, `troupe run`, me@troupe\n"
	files := map[string]string{
		"go.mod":             "module MODULE\n\ngo 1.26.0\n",
		"bench/go.mod":       "module MODULE/bench\n\ngo 1.26.0\n\nrequire MODULE v0.0.0\n\nreplace MODULE => ..\n",
		"examples/other.mod": "module troupe\n",
		"p/p.go":             goFile,
		"p/testdata/p.go":    "package p\n\nimport \"troupe\"\n",
		"docs/page.md":       page,
	}
	as := func(text, module string) string { return strings.ReplaceAll(text, "MODULE", module) }
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(as(text, "troupe")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, module := range []string{"host.example/Owner/troupe", "other.example/troupe", "other.example/troupe"} {
		if err := run(dir, []string{module}); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if want := as(text, module); string(got) != want {
				t.Errorf("%s: %s is\n%s\nwant\n%s", module, name, got, want)
			}
		}
	}
	for _, args := range [][]string{nil, {""}, {"troupe"}, {"nohost/troupe"}, {"host.example/other"}, {"https://host.example/troupe"}, {"host.example/troupe", "x"}} {
		if err := run(dir, args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// A file that cannot be parsed is named, with all others, and nothing is changed: the tree is as
// before, and a run after the repair changes all of it. So it is after a run that could not write.
func TestAFailedRunChangesNothing(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":       "module troupe\n\ngo 1.26.0\n",
		"a/a.go":       "package a\n\nimport _ \"troupe/z\"\n",
		"b/b.go":       "package b\n\nimport \"troupe/z\n",
		"bench/go.mod": "module troupe/bench\n\ngo 1.26.0\n\nrequire troupe v0.0.0\n\nreplace troupe => ..\n",
		"c/c.go":       "package c\n\nimport _ \"troupe/z\"\n\nfunc {\n",
		"docs/page.md": "`go install troupe/cmd/troupe@latest`\n",
		"z/z.go":       "package z\n",
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		put(name, text)
	}
	unchanged := func(after string) {
		t.Helper()
		seen := 0
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			seen++
			name, _ := filepath.Rel(dir, path)
			if text, err := os.ReadFile(path); err != nil || string(text) != files[name] {
				t.Errorf("after %s %s is %q (%v), want %q", after, name, text, err, files[name])
			}
			return nil
		})
		if err != nil || seen != len(files) {
			t.Errorf("after %s there are %d files (%v), want %d", after, seen, err, len(files))
		}
	}
	const module = "host.example/owner/troupe"
	err := run(dir, []string{module})
	if err == nil || !strings.Contains(err.Error(), "b/b.go") || !strings.Contains(err.Error(), "c/c.go") {
		t.Errorf("got %v, want both files that cannot be parsed", err)
	}
	unchanged("an error of syntax")

	for _, name := range []string{"b/b.go", "c/c.go"} {
		files[name] = "package " + name[:1] + "\n\nimport _ \"troupe/z\"\n"
		put(name, files[name])
	}
	blocked := filepath.Join(dir, "docs/page.md"+newSuffix) // as a directory without a place to write
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, []string{module}); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v, want an error", err)
	}
	unchanged("an error of a write")

	if err := run(dir, []string{module}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.mod": "module " + module + "\n", "a/a.go": `"` + module + `/z"`, "b/b.go": `"` + module + `/z"`, "c/c.go": `"` + module + `/z"`,
		"bench/go.mod": "replace " + module + " => ..", "docs/page.md": module + "/cmd/troupe@latest",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %q (%v), want %q in it", name, text, err, want)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s has another mode (%v)", name, err)
		}
	}
}

// A run that ended between two files is resumed: the go.mod of the root is the last.
func TestAnEndedRunIsResumed(t *testing.T) {
	dir := t.TempDir()
	const module = "host.example/owner/troupe"
	for name, text := range map[string]string{
		"go.mod": "module troupe\n\ngo 1.26.0\n",
		"a.go":   "package troupe\n\nimport _ \"" + module + "/z\"\n",
		"b.go":   "package troupe\n\nimport _ \"troupe/z\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, []string{module}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.go", "b.go"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), `import _ "`+module+`/z"`) {
			t.Errorf("%s is %q (%v)", name, text, err)
		}
	}
}
