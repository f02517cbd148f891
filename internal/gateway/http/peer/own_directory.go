package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// OwnDirectory opens a directory of our user alone and makes it (0700) if it does not
// exist. It refuses a symbolic link, a directory of another user, and one that others
// may enter. The error has use, the purpose of the directory, as its reason.
func OwnDirectory(path, use string) (*os.File, error) {
	foreign := func(why string) error {
		return &messages.Error{
			Code: messages.Refused, Reason: use, Message: path + " " + why, Hint: "use a directory of your own with mode 0700",
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, foreign("cannot be made: " + err.Error())
	}
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, foreign("is a symbolic link or not a directory")
	case err != nil:
		return nil, foreign("cannot be entered: " + err.Error())
	}
	info, err := dir.Stat()
	switch {
	case err != nil:
	case OwnerOf(info) != unix.Geteuid():
		err = foreign(fmt.Sprintf("belongs to user %d", OwnerOf(info)))
	case info.Mode().Perm()&0o077 != 0:
		err = foreign(fmt.Sprintf("has mode %04o: other users can enter it", info.Mode().Perm()))
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// MakeFile makes a file (0600) with a text. It returns fs.ErrExist if the file exists.
// The text is written under another name and then linked, so that a crash leaves no
// partial file.
func MakeFile(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600, distinct from the file of a concurrent call
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Link(file.Name(), path)
	}
	return errors.Join(err, os.Remove(file.Name()))
}

// OwnerOf returns the user that owns a file, -1 if unknown.
func OwnerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
