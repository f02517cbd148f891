package artifact

import "errors"

// Errors that a caller may test for. Some continue a sentence that begins with a path.
var (
	ErrClosed      = errors.New("the directory of the session is closed")
	ErrNotOurs     = errors.New("is not a directory that belongs to this user alone (mode 0700)")
	ErrName        = errors.New("is not a file name")
	ErrNoID        = errors.New("an artifact is named by its id: artifact://<id>")
	ErrNoDirectory = errors.New("no session has a directory of artifacts")
)
