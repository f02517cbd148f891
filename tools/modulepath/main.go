package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run("..", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "modulepath: "+err.Error())
		os.Exit(1)
	}
}

// valid matches a path that the go command can fetch: its first element is a host, with a dot. The
// last is the name of the package.
var valid = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9_.~-]+)*/troupe$`)

// run sets the path in the tree below root. It reads and changes all files in memory before it
// writes one, and the go.mod of root last: after an error another run begins anew.
func run(root string, args []string) error {
	if len(args) != 1 || !valid.MatchString(args[0]) {
		return fmt.Errorf("%q is no path of this module; write make module MODULE=HOST/OWNER/troupe, as example.org/owner/troupe", strings.Join(args, " "))
	}
	t := &tree{root: root, to: args[0]}
	own := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(own)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	t.from = strings.TrimPrefix(first, "module ")
	if t.from == t.to {
		return nil
	}
	if err := filepath.WalkDir(root, t.visit); err != nil {
		return err
	}
	if err := t.rewrite(own, t.module); err != nil {
		return err
	}
	if len(t.wrong) > 0 {
		return fmt.Errorf("nothing was changed: %w", errors.Join(t.wrong...))
	}
	if err := write(t.edits); err != nil {
		return err
	}
	fmt.Printf("the module is %s now: %d files; commit them, and tag the commit\n", t.to, len(t.edits))
	return nil
}

// edit is the new text of a file.
type edit struct {
	name string
	text []byte
	mode fs.FileMode
}

// newSuffix ends the name of a file that is not in its place yet.
const newSuffix = ".modulepath"

// write puts the texts beside their files, and then, when all are on the disk, in their places.
func write(edits []edit) (err error) {
	defer func() {
		for _, e := range edits {
			_ = os.Remove(e.name + newSuffix) // of what was not moved
		}
	}()
	for _, e := range edits {
		if err := os.WriteFile(e.name+newSuffix, e.text, e.mode); err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		if err := os.Chmod(e.name+newSuffix, e.mode); err != nil { // whatever the umask is
			return fmt.Errorf("nothing was changed: %w", err)
		}
	}
	for i, e := range edits {
		if err := os.Rename(e.name+newSuffix, e.name); err != nil {
			return fmt.Errorf("%d of %d files were changed; run it again: %w", i, len(edits), err)
		}
	}
	return nil
}

// tree is a checkout whose module path changes.
type tree struct {
	root, from, to string
	edits          []edit
	wrong          []error // of files that cannot be changed
}

// visit changes one file, in memory.
func (t *tree) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir():
		if name != t.root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "man", "node_modules", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
	case !d.Type().IsRegular(), name == filepath.Join(t.root, "go.mod"): // which is the last
	case d.Name() == "go.mod":
		return t.rewrite(name, t.module)
	case filepath.Ext(name) == ".go":
		return t.rewrite(name, t.imports)
	case filepath.Ext(name) == ".md":
		return t.rewrite(name, t.document)
	}
	return nil
}

// rewrite notes the text that a function makes of that of a file, if it differs.
func (t *tree) rewrite(name string, by func(text []byte) ([]byte, error)) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	now, err := by(text)
	if err != nil {
		t.wrong = append(t.wrong, fmt.Errorf("%s: %w", name, err))
	} else if !bytes.Equal(text, now) {
		t.edits = append(t.edits, edit{name, now, info.Mode().Perm()})
	}
	return nil
}

// moved returns the new path of a package or module of the tree, and whether it is one.
func (t *tree) moved(old string) (string, bool) {
	if old == t.from {
		return t.to, true
	}
	rest, below := strings.CutPrefix(old, t.from+"/")
	return path.Join(t.to, rest), below
}

// imports changes the imports of a Go file.
func (t *tree) imports(text []byte) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var now bytes.Buffer
	end := 0
	for _, spec := range file.Imports {
		old, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		to, is := t.moved(old)
		if !is {
			continue
		}
		now.Write(text[end:set.Position(spec.Path.Pos()).Offset])
		now.WriteString(strconv.Quote(to))
		end = set.Position(spec.Path.End()).Offset
	}
	if end == 0 {
		return text, nil
	}
	now.Write(text[end:])
	return format.Source(now.Bytes())
}

// document changes a page where it names the module: with a version, after require or replace,
// as a package in backquotes.
func (t *tree) document(text []byte) ([]byte, error) {
	from := regexp.QuoteMeta(t.from)
	for _, named := range []*regexp.Regexp{
		regexp.MustCompile(`(-re(?:quire|place)=)` + from + `([@=])`),
		regexp.MustCompile("((?:go (?:install|get) |`))" + from + `((?:/[a-z/]+)?@)`),
		regexp.MustCompile("(Go client is `)" + from + "(/client`)"),
	} {
		text = named.ReplaceAll(text, []byte("${1}"+t.to+"${2}"))
	}
	return text, nil
}

// module changes a go.mod: its path, and what it requires and replaces of the tree. The go command
// reads and formats a copy.
func (t *tree) module(text []byte) ([]byte, error) {
	first, _, _ := strings.Cut(string(text), "\n")
	to, is := t.moved(strings.TrimPrefix(first, "module "))
	if !is {
		return text, nil
	}
	args := []string{"mod", "edit", "-print", "-module=" + to}
	if strings.Contains(string(text), "\nreplace "+t.from+" => ") {
		args = append(args, "-droprequire="+t.from, "-dropreplace="+t.from, "-require="+t.to+"@v0.0.0", "-replace="+t.to+"=..")
	}
	dir, err := os.MkdirTemp("", "modulepath-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", append(args, "go.mod")...)
	var failure strings.Builder
	cmd.Dir, cmd.Stderr = dir, &failure
	now, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit: %w: %s", err, strings.TrimSpace(failure.String()))
	}
	return now, nil
}
