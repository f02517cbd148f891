package shelltext

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Files is a file system in which commands run: this machine's or a remote terminal's.
// Names are absolute, with slashes. Only MakeDir makes changes.
type Files interface {
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)

	// MakeDir creates root and the directory below it, for their owner alone. It
	// follows no link that leads out of root.
	MakeDir(root, below string) error
}

// maxLinks bounds the symbolic links in a name, as in Linux.
const maxLinks = 40

// errLinks reports a cycle of symbolic links.
var errLinks = errors.New("too many levels of symbolic links")

// RealPath resolves the symbolic links in name. Elements that do not exist stay as
// named, also after a dangling link: the result is where a file would be created.
func RealPath(files Files, name string) (string, error) {
	done, todo, links := "/", split(name), 0
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if next == ".." {
			done = path.Dir(done)
			continue
		}
		full := path.Join(done, next)
		info, err := files.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path.Join(append([]string{full}, todo...)...), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = full
			continue
		}
		if links++; links > maxLinks {
			return "", errLinks
		}
		target, err := files.ReadLink(full)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			done = "/"
		}
		todo = append(split(target), todo...)
	}
	return done, nil
}

// split returns the elements of a path without empty ones and dots.
func split(name string) []string {
	var elements []string
	for element := range strings.SplitSeq(name, "/") {
		if element != "" && element != "." {
			elements = append(elements, element)
		}
	}
	return elements
}

// Within reports whether a path is root or lies below it. Both are clean.
func Within(root, name string) bool {
	return name == root || strings.HasPrefix(name, strings.TrimSuffix(root, "/")+"/")
}
