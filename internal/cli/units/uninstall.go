package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// Uninstall removes the units that Install wrote. If systemd runs, it stops and disables them
// first. Jobs continue: the keeper holds them.
func Uninstall(m *cli.Main) error {
	dirs, err := places(m)
	if err != nil {
		return err
	}
	var there []unit
	for _, dir := range dirs {
		for _, u := range unitsIn(dir, "", "") {
			is, err := u.ours()
			if err != nil {
				return err
			}
			if is {
				there = append(there, u)
			}
		}
	}
	if len(there) == 0 {
		return &messages.Error{
			Code: messages.NotFound, Reason: "unit", Message: "no units of troupe in " + strings.Join(dirs, " and "),
			Hint: "troupe serve --install writes them",
		}
	}
	runs := managed(m)
	if runs {
		args := []string{"disable", "--now"}
		for _, u := range there {
			if filepath.Dir(u.path) == dirs[0] { // systemd does not know those of another directory
				args = append(args, u.name)
			}
		}
		if len(args) > 2 {
			if _, err := systemctl(m, args...); err != nil {
				return err
			}
		}
	}
	for _, u := range there {
		if err := u.remove(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(m.Out, "removed %s\n", out.Clean(u.path)); err != nil {
			return err
		}
	}
	if runs {
		_, err = systemctl(m, "daemon-reload")
	}
	return err
}

// places returns the directories in which Install may have written: that of systemd --user, then
// those of the caller, since systemd may have had other variables then.
func places(m *cli.Main) ([]string, error) {
	manager, err := managers(m)
	if err != nil {
		return nil, err
	}
	dirs := []string{manager.units()}
	get := func(name string) string { value, _ := m.Getenv(name); return value }
	for _, own := range []surroundings{surroundingsOf(get), {configVar: filepath.Join(get("HOME"), ".config")}} {
		if dir := own.units(); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// remove removes the file of a unit, and the links that enabled it.
func (u unit) remove() error {
	links, _ := filepath.Glob(filepath.Join(filepath.Dir(u.path), "*.wants", u.name)) // the pattern is valid
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || filepath.Base(to) != u.name {
			continue
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot disable the unit: %w", err)
		}
	}
	if err := os.Remove(u.path); err != nil {
		return fmt.Errorf("cannot remove the unit: %w", err)
	}
	return nil
}
