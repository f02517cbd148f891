package mcpinstall

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// maxFile limits a file that is edited, in bytes. Claude Code keeps the history of projects
// in its file, which reaches some megabytes.
const maxFile = 64 << 20

// currentFile is a file as it is before an edit.
type currentFile struct {
	path   string // as the host names it
	target string // where it is written: path, or what a link leads to
	text   []byte // nil: there is no file
	info   fs.FileInfo
}

// readFile reads a file. A missing one has no text.
func readFile(path string) (*currentFile, error) {
	f := &currentFile{path: path, target: path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		f.target = target
	} else if info, gone := os.Lstat(path); gone == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, unusable(path, "it is a link that leads to no file")
	}
	info, err := os.Stat(f.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, unusable(path, err.Error())
	case !info.Mode().IsRegular():
		return nil, unusable(path, "it is not a regular file")
	case info.Size() > maxFile:
		return nil, unusable(path, fmt.Sprintf("it has more than %d MiB", maxFile>>20))
	}
	f.info = info
	if f.text, err = os.ReadFile(f.target); err != nil {
		return nil, unusable(path, err.Error())
	}
	return f, nil
}

// unusable returns the error of a file that stays as it is. The names of the libraries that
// read it are left out.
func unusable(path, why string) *messages.Error {
	why = strings.TrimPrefix(strings.TrimPrefix(why, "hujson: "), "toml: ")
	return &messages.Error{Code: messages.Refused, Reason: "file", Message: "cannot edit " + path + ": " + why, Hint: "the file is unchanged"}
}

// replace writes a text in place of the file, at once and with its mode and owner. It is
// refused if the file has changed since it was read.
func (f *currentFile) replace(text []byte) error {
	dir := filepath.Dir(f.target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unusable(f.path, err.Error())
	}
	part, err := os.CreateTemp(dir, "."+filepath.Base(f.target)+".troupe-*")
	if err != nil {
		return unusable(f.path, err.Error())
	}
	err = f.fill(part, text)
	if err == nil {
		err = f.unchanged()
	}
	if err == nil {
		err = os.Rename(part.Name(), f.target)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return unusable(f.path, err.Error())
	}
	return nil
}

// fill writes and closes the new file.
func (f *currentFile) fill(part *os.File, text []byte) error {
	_, err := part.Write(text)
	if err == nil && f.info != nil {
		err = f.keepOwner(part)
	}
	if err == nil {
		err = part.Sync()
	}
	return errors.Join(err, part.Close())
}

// keepOwner gives the new file the owner and the mode of the file that it replaces.
func (f *currentFile) keepOwner(part *os.File) error {
	var was, is unix.Stat_t
	if err := unix.Stat(f.target, &was); err != nil {
		return err
	}
	if err := unix.Stat(part.Name(), &is); err != nil {
		return err
	}
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := part.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return err
		}
	}
	return part.Chmod(f.info.Mode().Perm())
}

// unchanged returns an error if another program has written the file since it was read.
func (f *currentFile) unchanged() error {
	now, err := os.ReadFile(f.target)
	switch {
	case f.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && f.info != nil && bytes.Equal(now, f.text):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return errors.New("another program has changed it meanwhile; run the command again")
	}
	return err
}
