package pipe

import (
	"errors"
	"os"
	"path/filepath"

	"troupe/messages"
)

// MaxWord is how long a text may be as a word of argv. The kernel takes 128 KiB,
// with the name and the end of the word; above 100 KiB a text travels in a file
// (design.md 9.3).
const MaxWord = 100 << 10

// script puts a text into a file of a directory of its own, and gives both. The
// engine removes the file when the command has run, and the job the directory.
func (b *Backend) script(text string) (dir, path string, err error) {
	base := "" // the system's
	if b.options.ScriptDir != nil {
		if base, err = b.options.ScriptDir(); err != nil {
			return "", "", err
		}
	}
	dir, err = os.MkdirTemp(base, "troupe-script-") // 0700
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "command")
	if err := write(path, text); err != nil {
		return "", "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, path, nil
}

func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// unwritten is why a script could not be made.
func unwritten(err error) messages.Error {
	var known *messages.Error
	if errors.As(err, &known) {
		return *known
	}
	return messages.Error{
		Code: messages.SpawnFailed, Reason: errnoName(err), Message: "the command's text could not be written to a file: " + err.Error(),
		Hint: "make room in the directory for temporary files, or name another with TMPDIR",
	}
}
