package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Errors of OpenFile.
var (
	ErrNoPath    = errors.New("no file path given")
	ErrDirectory = errors.New("is a directory")
	ErrNotAFile  = errors.New("is no regular file")
)

// Missing means that a file does not exist. It names files with similar names.
type Missing struct {
	Path    string
	Similar []string // paths, at most three
}

func (e *Missing) Error() string { return "file not found: " + e.Path }
func (e *Missing) Unwrap() error { return fs.ErrNotExist }

// OpenFile opens a regular file for reading and returns its size. It never blocks,
// whatever is at the path.
func OpenFile(path string) (*os.File, int64, error) {
	if path == "" {
		return nil, 0, ErrNoPath
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, &Missing{Path: path, Similar: similar(path)}
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s %w", path, ErrDirectory)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s %w", path, ErrNotAFile)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if info.Size() > 0 {
		return f, info.Size(), nil
	}
	return ofNoSize(f)
}

// maxOfNoSize bounds what is copied of a file that reports size 0. Kernel files have
// some megabytes at most.
const maxOfNoSize = 32 << 20

// ofNoSize returns f if it is empty, else a copy of its content now. Files in /proc
// report size 0 whatever they hold.
func ofNoSize(f *os.File) (*os.File, int64, error) {
	var one [1]byte
	if n, err := f.ReadAt(one[:], 0); n == 0 && err == io.EOF {
		return f, 0, nil
	}
	defer f.Close()
	held, err := os.CreateTemp("", "troupe-view-")
	if err != nil {
		return nil, 0, err
	}
	size, err := io.Copy(held, io.LimitReader(nonBlockingFile{f}, maxOfNoSize))
	if gone := os.Remove(held.Name()); err == nil {
		err = gone
	}
	if err != nil {
		held.Close()
		return nil, 0, err
	}
	return held, size, nil
}

// nonBlockingFile reads what a file holds now. A blocking read of a kernel file, such
// as /dev/kmsg, would hold up the call and the exit of the process.
type nonBlockingFile struct{ *os.File }

func (p nonBlockingFile) Read(b []byte) (n int, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, failed = unix.Read(int(fd), b); failed != unix.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed == unix.EAGAIN, failed == nil && n == 0:
		return 0, io.EOF
	case failed != nil:
		return 0, &fs.PathError{Op: "read", Path: p.Name(), Err: failed}
	}
	return n, nil
}

// similar returns paths beside path whose names contain its name, or are contained in
// it.
func similar(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	want := strings.ToLower(filepath.Base(path))
	var out []string
	for _, e := range entries {
		is := strings.ToLower(e.Name())
		if e.Name() == filepath.Base(path) { // a dangling link
			continue
		}
		if strings.Contains(is, want) || strings.Contains(want, is) {
			if out = append(out, filepath.Join(filepath.Dir(path), e.Name())); len(out) == 3 {
				break
			}
		}
	}
	return out
}

// IsImage reports by its name whether a file is an image, which has no lines.
func IsImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jpg", ".jpeg", ".png", ".gif", ".bmp", ".svg", ".webp":
		return true
	}
	return false
}
