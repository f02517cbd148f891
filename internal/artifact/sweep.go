package artifact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/spill"
)

// Sweep removes the directories of parent whose names begin with prefix and whose
// owners are dead, but for those that keep names (nil: none), and says which. What
// is not a directory of ours alone, or never had an owner, is not touched.
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

// sweepOne removes one directory, or what a removal that was cut short left of it.
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
