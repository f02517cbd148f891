package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"troupe/internal/cli/out"
	"troupe/spill"
)

// directory is the report of a directory that troupe uses.
type directory struct {
	Use   string `json:"use"`
	Path  string `json:"path"`
	State string `json:"state"` // ok, absent (created when needed) or wrong
	Mode  string `json:"mode,omitempty"`
	Owner int    `json:"owner"`
	Free  int64  `json:"free_bytes"`
	Files int64  `json:"free_files"`    // free inodes; -1: no limit
	Why   string `json:"why,omitempty"` // cause of State wrong
}

func (d directory) text() string {
	switch {
	case d.Why != "":
		return d.Path + ": " + d.Why
	case d.State != "ok":
		return d.Path + ": created when needed"
	}
	free := humanize.IBytes(uint64(d.Free))
	if d.Files >= 0 {
		free += ", " + out.Plural(int(d.Files), "file")
	}
	return fmt.Sprintf("%s (%s, uid %d, %s free)", d.Path, d.Mode, d.Owner, free)
}

// directories creates the directory for large outputs, as a command would, and inspects it.
func (c *doctorReport) directories(store *spill.Disk) []directory {
	_, err := store.Dir()
	root := store.Root()
	if err != nil || root == "" {
		d := directory{Use: "large outputs", Path: filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", unix.Geteuid())), State: "wrong"}
		if err != nil {
			d.Why = err.Error()
		}
		c.problem("cannot store outputs above %d bytes: %s; set TMPDIR to a directory of yours", spill.InlineLimit, d.Why)
		return []directory{d}
	}
	return []directory{
		inspect("large outputs", root),
		inspect("outputs of run --json", filepath.Join(root, "kept")),
	}
}

// inspect checks that a directory is private to this user.
func inspect(use, path string) directory {
	d := directory{Use: use, Path: path, State: "absent"}
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return d
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(path, &st)
	}
	if err != nil {
		d.State, d.Why = "wrong", err.Error()
		return d
	}
	d.State, d.Mode, d.Owner = "ok", fmt.Sprintf("%04o", info.Mode().Perm()), int(st.Uid)
	switch {
	case info.Mode()&fs.ModeType != fs.ModeDir:
		d.State, d.Why = "wrong", "it is not a directory"
	case d.Owner != unix.Geteuid():
		d.State, d.Why = "wrong", fmt.Sprintf("it belongs to uid %d", d.Owner)
	case info.Mode().Perm() != 0o700:
		d.State, d.Why = "wrong", "its mode is "+d.Mode+", not 0700"
	}
	var free unix.Statfs_t
	if unix.Statfs(path, &free) == nil {
		d.Free, d.Files = int64(free.Bavail)*int64(free.Bsize), -1
		if free.Files > 0 {
			d.Files = int64(free.Ffree)
		}
	}
	return d
}
