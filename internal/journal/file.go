package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"troupe/messages"
)

// A journal file has mode 0600, its directory 0700, and both belong to the user. They
// are opened without following a link.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600

	openFlags = os.O_RDWR
	readFlags = os.O_RDONLY
	makeFlags = os.O_RDWR | os.O_CREATE | os.O_EXCL
)

// prepare creates the directory and an empty journal if they do not exist. The file is
// completed under another name and then linked, so that no half-made journal can
// appear.
func prepare(path string, timeout time.Duration) error {
	dir, unfinished := filepath.Dir(path), path+unfinishedSuffix
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("the journal's directory: %w", err)
	}
	if err := private(dir); err != nil {
		return err
	}
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove an unfinished journal: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // verify checks any existing file
	}
	if err := makeEmpty(unfinished, timeout); err != nil {
		return err
	}
	if err := os.Link(unfinished, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the new journal: %w", err)
	}
	if err := os.Remove(unfinished); err != nil {
		return fmt.Errorf("the new journal: %w", err)
	}
	return syncDir(dir)
}

func makeEmpty(path string, timeout time.Duration) error {
	db, _, err := openFile(path, makeFlags, bbolt.Options{Timeout: timeout})
	if err != nil {
		return err
	}
	return errors.Join(guarded(func() error { return db.Update(layOut) }), db.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("the journal's directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// private checks the directory of a journal.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("the journal's directory: %w", err)
	}
	switch {
	case !info.IsDir():
		return unsafe(dir, "it is a link, or not a directory", "give a directory that is not a link")
	case info.Mode().Perm()&0o077 != 0:
		return unsafe(dir, "other users have access: its mode is "+info.Mode().Perm().String(), "chmod 700 "+dir)
	case !own(info):
		return unsafe(dir, "it belongs to another user", "give a directory of your own")
	}
	return nil
}

// openSafe opens the file itself, never the target of a link.
func openSafe(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, unsafe(path, "it is a link", "move it away")
	case err != nil:
		return nil, fmt.Errorf("cannot open the journal: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = safeFile(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func safeFile(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return unsafe(path, "it is not a regular file", "move it away")
	case info.Mode().Perm()&0o077 != 0:
		return unsafe(path, "other users have access: its mode is "+info.Mode().Perm().String(), "find the cause of the mode, then chmod 600 "+path)
	case !own(info):
		return unsafe(path, "it belongs to another user", "move it away")
	case ok && stat.Nlink != 1:
		return unsafe(path, "it has another hard link", "remove the other link")
	}
	return nil
}

func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// openFile opens the file with bbolt, which closes it.
func openFile(path string, flag int, o bbolt.Options) (*bbolt.DB, *os.File, error) {
	o.FreelistType, o.NoFreelistSync = bbolt.FreelistMapType, true // with statistics, which count the free pages
	o.PageSize = pageSize
	o.ReadOnly = flag == readFlags
	var file *os.File
	var refused error
	o.OpenFile = func(name string, _ int, _ os.FileMode) (*os.File, error) {
		file, refused = openSafe(name, flag)
		return file, refused
	}
	var db *bbolt.DB
	err := guarded(func() (err error) {
		db, err = bbolt.Open(path, fileMode, &o)
		return err
	})
	if err != nil && file != nil {
		file.Close() // this releases the lock, also after a panic of bbolt
	}
	switch {
	case refused != nil:
		return nil, nil, refused
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, nil, inUse(path)
	case err != nil:
		return nil, nil, damaged(path, err)
	}
	db.AllocSize = growth
	if !isAt(file, path) { // its process compacted it while this one waited for the lock
		return nil, nil, errors.Join(inUse(path), db.Close())
	}
	return db, file, nil
}

// isAt reports whether a file has still its name.
func isAt(file *os.File, path string) bool {
	info, err := file.Stat()
	named, nerr := os.Lstat(path)
	return err == nil && nerr == nil && os.SameFile(info, named)
}

func unsafe(path, what, hint string) error {
	return &messages.Error{
		Code: ErrUnsafe.Code, Reason: ErrUnsafe.Reason,
		Message: fmt.Sprintf("the journal is not safe in %s: %s", path, what), Hint: hint,
	}
}

func inUse(path string) error {
	return &messages.Error{
		Code: ErrInUse.Code, Reason: ErrInUse.Reason,
		Message: fmt.Sprintf("another process has the journal %s open", path), Hint: "stop the other daemon, or give this one a state directory of its own",
	}
}

func damaged(path string, err error) error {
	return &messages.Error{
		Code: ErrDamaged.Code, Reason: ErrDamaged.Reason,
		Message: fmt.Sprintf("the journal %s is damaged: %v", path, err),
		Hint:    "it was left as it is; move it away to begin a new one without its history, or restore it from a backup",
	}
}

func foreign(path, what string) error {
	return &messages.Error{
		Code: ErrForeign.Code, Reason: ErrForeign.Reason,
		Message: fmt.Sprintf("the file %s is not a journal of troupe: %s", path, what), Hint: "it was left as it is; move it away, or give another state directory",
	}
}

func newer(path string, format uint64) error {
	return &messages.Error{
		Code: ErrNewer.Code, Reason: ErrNewer.Reason,
		Message: fmt.Sprintf("the journal %s has the format %d, and this troupe knows up to %d", path, format, Format),
		Hint:    "use the troupe that wrote it, or move it away to begin a new one",
	}
}
