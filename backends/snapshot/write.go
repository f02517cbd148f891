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

// folder is the directory of snapshots in that of the node.
const folder = "snapshots"

// filePrefix begins the names of their files.
const filePrefix = "snapshot-"

// write puts a snapshot into a file that only this user can read, in a directory that
// only they can enter.
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
		return "", fmt.Errorf("%s is no directory of mode 0700", filepath.Join(dir, folder))
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

// maxSaid bounds what is read of a check, and what of it stands in an error.
const (
	maxSaid  = 4096
	maxShown = 200
)

// said is the first line of an output, as it can stand in an error.
func said(output []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if line == "" {
		return "it says nothing"
	}
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return fmt.Sprintf("it says %q", line)
}
