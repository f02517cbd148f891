package disk

import (
	"io/fs"
	"os"
)

// Files implements shell.Files on the file system of this machine. Its zero value is ready.
type Files struct{}

// Stat follows symbolic links.
func (Files) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Lstat does not follow symbolic links.
func (Files) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// ReadLink returns the target of a symbolic link.
func (Files) ReadLink(name string) (string, error) { return os.Readlink(name) }

// ReadDir returns the entries of a directory, sorted by name.
func (Files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// forOwner is the mode of new directories: only the owner can read them.
const forOwner = 0o700

// MakeDir makes root and the directory below it, if missing. The kernel resolves each element
// within root, so that a link planted there meanwhile cannot lead out of it.
func (Files) MakeDir(root, below string) error {
	if err := os.MkdirAll(root, forOwner); err != nil {
		return err
	}
	if below == "" || below == "." {
		return nil
	}
	held, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer held.Close()
	return held.MkdirAll(below, forOwner)
}
