package urls

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// LocalFiles is the Router of local:// (R-044): files that the commands and tools of a
// session share.
type LocalFiles struct {
	Files shelltext.Files
	Root  string // from LocalRoot
}

// LocalRoot returns the directory of local:// files. It is in the session's artifact
// directory, or else in a directory named for the session below runtime.
func LocalRoot(artifacts, runtime, session string) string {
	if artifacts != "" {
		return path.Join(artifacts, "local")
	}
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (isLetter(byte(r)) || '0' <= r && r <= '9' || strings.ContainsRune("_.-", r)) {
			return r
		}
		return '_'
	}, session)
	if strings.Trim(safe, ".") == "" { // not a valid directory name
		safe = strings.ReplaceAll(cmp.Or(safe, "_"), ".", "_")
	}
	return path.Join(runtime, "sessions", safe, "local")
}

// Scheme returns Local.
func (l LocalFiles) Scheme() string { return Local }

// Resolve returns the path of a file, which must exist only if use is ToRead. local://
// alone is the directory, or with ToRead a list of its files.
func (l LocalFiles) Resolve(u URL, use Use) (Resource, error) {
	name, err := decode(strings.TrimPrefix(u.Rest, "/"))
	if err != nil {
		return Resource{}, err
	}
	if path.IsAbs(name) {
		return Resource{}, fmt.Errorf(causeEscapes, l.Root)
	}
	full, err := below(l.Files, l.Root, name)
	if err != nil {
		return Resource{}, err
	}
	if use != ToRead {
		return Resource{Path: full}, nil
	}
	if full == path.Clean(l.Root) {
		text, err := l.list()
		return Resource{Path: full, Text: text, Type: "text/markdown"}, err
	}
	info, err := l.Files.Stat(full)
	switch {
	case err != nil:
		return Resource{}, errors.New(causeNotFound)
	case !info.Mode().IsRegular():
		return Resource{}, errors.New(causeNotAFile)
	}
	return Resource{Path: full}, nil
}

// Make creates the parent directory of a file.
func (l LocalFiles) Make(r Resource) error {
	parent := ""
	if root := path.Clean(l.Root); r.Path != root {
		parent = strings.TrimPrefix(strings.TrimPrefix(path.Dir(r.Path), root), "/")
	}
	if err := l.Files.MakeDir(l.Root, parent); err != nil {
		return fmt.Errorf(causeParents, err)
	}
	return nil
}

// maxListed bounds a listing, in files and in directories.
const maxListed = 1000

// list returns a markdown list of the files. It does not follow links.
func (l LocalFiles) list() (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, listHead, l.Root)
	count, dirs, todo := 0, 0, []string{""}
	for ; len(todo) > 0 && count < maxListed && dirs < maxListed; dirs++ {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		entries, err := l.Files.ReadDir(path.Join(l.Root, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed meanwhile
			return "", fmt.Errorf(causeListing, err)
		}
		deeper := len(todo)
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			switch {
			case entry.IsDir():
				todo = append(todo, name)
			case entry.Type().IsRegular() && count < maxListed:
				fmt.Fprintf(&out, "- local://%s\n", encode(name))
				count++
			}
		}
		slices.Reverse(todo[deeper:]) // the first comes next
	}
	switch {
	case count == maxListed || len(todo) > 0:
		fmt.Fprintf(&out, listCut, count)
	case count == 0:
		out.WriteString(listEmpty)
	}
	return out.String(), nil
}

// encode encodes a name so that it is read again as one token.
func encode(name string) string {
	var out strings.Builder
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(stop+operators+"%", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
			continue
		}
		out.WriteByte(name[i])
	}
	return out.String()
}
