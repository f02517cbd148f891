package shelltext

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Texts of CwdError. Clients rely on the first two.
const (
	cwdMissing   = "Working directory does not exist: "
	cwdNoDir     = "Working directory is not a directory: "
	cwdForbidden = "Working directory cannot be looked at: "
)

// CwdError is a directory in which a command cannot run. Its text is shown to the
// client.
type CwdError struct {
	Text string
	Path string // absolute
}

func (e *CwdError) Error() string { return e.Text + e.Path }

// Place is the base for the directories that a session's calls name.
type Place struct {
	Session string // directory of the session, absolute
	Home    string // meaning of ~; "": ~ is an ordinary name

	// SlashIsSession makes a path of slashes alone mean the session's directory, as omp
	// does; otherwise it is the root.
	SlashIsSession bool
}

// Cwd returns the directory of a call that asks for given; "" means the session's. The
// result is absolute without symbolic links, so that pwd and other tools agree.
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

// absolute returns the absolute path that given means.
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
