package shelltext

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Files is the file system as the text of a command meets it: this machine's, or that
// of a client's terminal. Names are absolute and have slashes. Nothing but MakeDir
// changes anything.
type Files interface {
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)

	// MakeDir makes the directory below root, and root, where they are missing, for their owner
	// alone. It follows no link that leads out of root.
	MakeDir(root, below string) error
}

// maxLinks is how many symbolic links a name may lead through: what Linux follows.
const maxLinks = 40

// errLinks is what a name that leads in circles gives.
var errLinks = errors.New("too many levels of symbolic links")

// RealPath is name without symbolic links. What does not exist stays as it is named, also
// behind a link that leads nowhere: so it says where a file would be made.
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

// split gives the elements of a path, without those that mean nothing.
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
