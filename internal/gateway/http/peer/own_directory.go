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

// OwnDirectory makes a directory of ours alone (0700) if it is not there, and opens
// it. One that is a symbolic link, another user's, or open to others is refused;
// use says what it is for, as the reason of that error.
func OwnDirectory(path, use string) (*os.File, error) {
	foreign := func(why string) error {
		return &messages.Error{
			Code: messages.Refused, Reason: use, Message: path + " " + why, Hint: "make it a directory of yours with mode 0700, or name another",
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, foreign("cannot be made: " + err.Error())
	}
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, foreign("is a symbolic link or no directory")
	case err != nil:
		return nil, foreign("cannot be entered: " + err.Error())
	}
	info, err := dir.Stat()
	switch {
	case err != nil:
	case OwnerOf(info) != unix.Geteuid():
		err = foreign(fmt.Sprintf("belongs to user %d", OwnerOf(info)))
	case info.Mode().Perm()&0o077 != 0:
		err = foreign(fmt.Sprintf("has the mode %04o: others may enter it", info.Mode().Perm()))
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// MakeFile makes a file of ours alone (0600) with a text. It is fs.ErrExist if there is
// one. It is made beside its place and linked there when it is whole, so that no instant
// leaves half a file.
func MakeFile(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // 0600, and of nobody else who makes it now
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Link(file.Name(), path)
	}
	return errors.Join(err, os.Remove(file.Name()))
}

// OwnerOf is the user to whom a file belongs; -1: that is not known.
func OwnerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
