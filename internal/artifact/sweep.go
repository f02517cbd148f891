package artifact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/spill"
)

// Sweep removes directories of dead owners from parent and returns their names. It
// takes those whose names begin with prefix, except those that keep selects (nil:
// none). It never touches a directory that others can access, or that never had an
// owner.
func Sweep(parent, prefix string, keep func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var swept []string
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || !strings.HasPrefix(name, prefix) || keep != nil && keep(name) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(parent, name)); err != nil || !ours(info) {
			continue
		}
		ok, err := sweepOne(parent, name)
		if ok {
			swept = append(swept, name)
		}
		errs = append(errs, err)
	}
	return swept, errors.Join(errs...)
}

// sweepOne removes one directory, or the rest of an interrupted removal.
func sweepOne(parent, name string) (bool, error) {
	if !strings.HasSuffix(name, spill.DeadSuffix) {
		return spill.SweepOwned(parent, name)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return false, err
	}
	defer root.Close()
	err = root.RemoveAll(name)
	return err == nil, err
}
