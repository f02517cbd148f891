package supervision_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A census is a count per folder that may only fall (testdata/ratchets.txt).
type census struct {
	name  string
	count func(*houseFile) int
}

// houseCensuses are the habits that the tree leaves behind, folder by folder.
var houseCensuses = []census{
	{"words", privateWords},
	{"names", privateNames},
	{"filenames", strayFilenames},
	{"verbs", nounComments},
	{"packages", unmappedFiles},
}

// privateWord finds the words that docs/words.md replaces by the field's own.
var privateWord = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|hears|behind|lets go of|sees to it|of ours|on its way)\b`)

// privateWords counts them in comments and texts.
func privateWords(f *houseFile) int {
	if f.test {
		return 0
	}
	n := 0
	for _, group := range f.ast.Comments {
		n += len(privateWord.FindAllString(group.Text(), -1))
	}
	ast.Inspect(f.ast, func(x ast.Node) bool {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			n += len(privateWord.FindAllString(lit.Value, -1))
		}
		return true
	})
	return n
}

// privateParts are words of names that no reader from outside knows.
var privateParts = strings.Fields(`brood errand eye ear keepsake lone vain unheard undertaker seat leaver reel painted
	voice tongue parting straggler tenant charge born unborn ladder climb rung falls hush deafen brake beat mute janitor
	census descent walker sieve skim crew sight tally veil adrift`)

// privateNames counts declarations and files with such a part in their name.
func privateNames(f *houseFile) int {
	if f.test {
		return 0
	}
	n := 0
	for _, name := range append(declared(f), strings.ReplaceAll(stem(f), "_", " ")) {
		if slices.ContainsFunc(camelParts(name), func(part string) bool { return slices.Contains(privateParts, part) }) {
			n++
		}
	}
	return n
}

// platform are the endings of a file name that say where it is built.
var platform = []string{"test", "linux", "darwin", "other", "others", "unix", "amd64", "arm64"}

// stem is a file's name without its ending and the platforms that it is for.
func stem(f *houseFile) string {
	name := strings.TrimSuffix(path.Base(f.path), ".go")
	for {
		i := strings.LastIndexByte(name, '_')
		if i < 0 || !slices.Contains(platform, name[i+1:]) {
			return name
		}
		name = name[:i]
	}
}

// freeNames are files whose name says what they are, not what they declare.
var freeNames = []string{"doc", "main", "errors", "options", "texts"}

// strayFilenames counts a file whose name has a part that nothing declared in it has.
func strayFilenames(f *houseFile) int {
	if f.test || f.folder == "examples" || slices.Contains(freeNames, stem(f)) { // a program is named for what it shows
		return 0
	}
	names := strings.ToLower(strings.Join(declared(f), " "))
	for part := range strings.SplitSeq(stem(f), "_") {
		if !strings.Contains(names, part) {
			return 1
		}
	}
	return 0
}

// nounComments counts comments of functions that say what one is, not what it does.
func nounComments(f *houseFile) int {
	if f.test {
		return 0
	}
	n := 0
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		words := strings.Fields(fn.Doc.Text())
		if len(words) > 1 && slices.Contains([]string{"is", "are", "has"}, words[1]) {
			n++
		}
	}
	return n
}

// declared are the names of the functions, types, fields, methods, variables and constants of a file.
func declared(f *houseFile) []string {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			names = append(names, id.Name)
		}
	}
	for _, decl := range f.ast.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name)
				return false
			case *ast.TypeSpec:
				add(n.Name)
			case *ast.ValueSpec:
				add(n.Names...)
			case *ast.Field:
				add(n.Names...)
			}
			return true
		})
	}
	return names
}

// camelParts splits a name where its case changes and at blanks, in lower case.
func camelParts(name string) []string {
	var parts []string
	from := 0
	flush := func(to int) {
		if to > from {
			parts = append(parts, strings.ToLower(strings.Trim(name[from:to], " _")))
		}
		from = to
	}
	last := ' '
	for i, r := range name {
		if r == ' ' || unicode.IsUpper(r) && unicode.IsLower(last) {
			flush(i)
		}
		last = r
	}
	flush(len(name))
	return parts
}
