package shelltext

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// The texts of a directory that cannot be run in. The first two are contracts.
const (
	cwdMissing   = "Working directory does not exist: "
	cwdNoDir     = "Working directory is not a directory: "
	cwdForbidden = "Working directory cannot be looked at: "
)

// CwdError is a directory in which a command cannot run. Its text is for the caller.
type CwdError struct {
	Text string
	Path string // absolute
}

func (e *CwdError) Error() string { return e.Text + e.Path }

// Place is where a session is, for the directories that its calls name.
type Place struct {
	Session string // the session's directory, absolute
	Home    string // what ~ means; "" leaves ~ a name like any other

	// SlashIsSession has a path of slashes alone mean the session's directory, as omp does. Without it
	// / is the root.
	SlashIsSession bool
}

// Cwd is the directory in which a call runs that asks for given: absolute and without
// symbolic links, so that pwd says the same as other tools. "" asks for the session's.
// An error is a *CwdError.
func Cwd(files Files, place Place, given string) (string, error) {
	full := place.absolute(given)
	info, err := files.Stat(full)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", &CwdError{cwdForbidden, full}
	case err != nil:
		return "", &CwdError{cwdMissing, full}
	case !info.IsDir():
		return "", &CwdError{cwdNoDir, full}
	}
	real, err := RealPath(files, full)
	if err != nil {
		return "", &CwdError{cwdForbidden, full}
	}
	return real, nil
}

// absolute is the path that given means here.
func (p Place) absolute(given string) string {
	slashes := given != "" && strings.Trim(given, "/") == ""
	switch {
	case given == "" || slashes && p.SlashIsSession:
		return path.Clean(p.Session)
	case p.Home != "" && given == "~":
		return path.Clean(p.Home)
	case p.Home != "" && strings.HasPrefix(given, "~/"):
		return path.Join(p.Home, given[2:])
	case path.IsAbs(given):
		return path.Clean(given)
	}
	return path.Join(p.Session, given)
}
