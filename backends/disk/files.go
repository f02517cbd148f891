// Package disk is the file system of this machine, for those who only decide: what
// package shell asks through shell.Files is answered here.
package disk

import (
	"io/fs"
	"os"
)

// Files is a shell.Files of this machine. Its zero value is ready.
type Files struct{}

// Stat follows symbolic links.
func (Files) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Lstat does not.
func (Files) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// ReadLink says where a symbolic link leads.
func (Files) ReadLink(name string) (string, error) { return os.Readlink(name) }

// ReadDir lists a directory by name.
func (Files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// forOwner is the mode of what is made here: nobody else reads it.
const forOwner = 0o700

// MakeDir makes root, and the directory below it, where they are missing. The kernel resolves each
// element within root, so that a link that is put there meanwhile leads nowhere.
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
