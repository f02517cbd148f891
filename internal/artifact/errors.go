// Package artifact makes files and texts that are projections of what a log holds,
// for those who read outputs by other means than views: directories of a session,
// files with ids, windows that spill into a file, cuts at lines and runes, and
// readers of huge files by line.
//
// Nothing here is on the way of a job's output into its log: who wants a file reads
// the log in bounded pieces and writes them. Memory is bounded whatever a
// file or a text holds. Texts are UTF-8: a byte that is none becomes U+FFFD when it
// is shown, and stays as it is in a raw file.
//
// Characters are graphemes, what a person takes for one; one of more than a KiB
// counts as several.
package artifact

import "errors"

// The errors a caller may test for.
var (
	ErrClosed      = errors.New("the directory of the session is closed")
	ErrNotOurs     = errors.New("is not a directory that belongs to this user alone (mode 0700)")
	ErrName        = errors.New("is no name of a file")
	ErrNoID        = errors.New("an artifact is named by its id: artifact://<id>")
	ErrNoDirectory = errors.New("no session has a directory of artifacts")
)
