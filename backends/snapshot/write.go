package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/internal/shelltext"
)

// folder is the name of the directory of snapshots in the node's directory.
const folder = "snapshots"

// filePrefix begins the names of snapshot files.
const filePrefix = "snapshot-"

// write stores a snapshot in a file and directory that only this user can read.
func (m *Maker) write(of subject, text string) (file string, err error) {
	dir, err := m.options.Dir()
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := root.Lstat(folder)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 {
		return "", fmt.Errorf("%s is not a directory of mode 0700", filepath.Join(dir, folder))
	}
	m.mu.Lock()
	m.dir = filepath.Join(dir, folder)
	m.mu.Unlock()
	name := filepath.Join(folder, filePrefix+shelltext.Kind(of.shell)+"-"+string(m.options.NewID())+".sh")
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(name)
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// maxSaid bounds the bytes read from a check, maxShown those shown in an error.
const (
	maxSaid  = 4096
	maxShown = 200
)

// said returns the first line of an output for an error.
func said(output []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if line == "" {
		return "no output"
	}
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return fmt.Sprintf("output %q", line)
}
