package pipe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// Check implements backends.Executor.
func (p *executor) Check(c backends.Command) *messages.Error {
	if c.Text == "" && len(c.Argv) == 0 {
		return messages.Invalid("empty_command", "there is no command to run")
	}
	if err := checkSize(p.terminal(c)); err != nil {
		return err
	}
	if err := p.checkDetach(c); err != nil {
		return err
	}
	if err := checkDir(p.dir(c)); err != nil {
		return err
	}
	if len(c.Argv) > 0 {
		return nil
	}
	words, _, err := p.backend.shells.resolve(p.shell(c), c.Env)
	if err == nil && len(p.text(c)) > MaxWord && words[len(words)-1] != textFlag {
		return &messages.Error{
			Code: messages.TooLarge, Reason: "command",
			Message: fmt.Sprintf("the text has %d bytes; this shell takes at most %d", len(p.text(c)), MaxWord),
			Hint:    "put it into a file and run that",
		}
	}
	return err
}

// checkDetach returns why a command cannot be detached, or nil if it can or need not be.
func (p *executor) checkDetach(c backends.Command) *messages.Error {
	if !c.Detach {
		return nil
	}
	if d, ok := p.backend.engine.(backends.Detacher); ok {
		return d.CheckDetach(c.Log.File)
	}
	return &messages.Error{
		Code: messages.Unsupported, Reason: "detach", Message: "this node cannot detach jobs",
		Hint: "run it without detach; with on_exit keep its children survive the session",
	}
}

// Runnable implements backends.Executor. It knows shells that were looked up before, and
// directories that the kernel has cached.
func (p *executor) Runnable(c backends.Command) bool {
	if checkSize(p.terminal(c)) != nil || c.Detach || !dirReachable(p.dir(c)) {
		return false
	}
	if len(c.Argv) > 0 {
		return true
	}
	return c.Text != "" && len(p.text(c)) <= MaxWord && p.backend.shells.knows(p.shell(c), c.Env)
}

// checkDir returns what is wrong with a working directory, or nil. "" is the engine's
// own.
func checkDir(dir string) *messages.Error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return messages.Invalid("cwd", fmt.Sprintf("the working directory %q is not absolute", dir))
	}
	err := unix.Faccessat(unix.AT_FDCWD, dir+"/.", unix.X_OK, unix.AT_EACCESS)
	if err == nil {
		return nil
	}
	if info, e := os.Stat(dir); e == nil && !info.IsDir() {
		return &messages.Error{Code: messages.CwdNotDir, Reason: "ENOTDIR", Message: "Working directory is not a directory: " + dir, Hint: "name a directory"}
	}
	text := "Working directory does not exist: " + dir
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		text = fmt.Sprintf("Working directory cannot be entered: %s: %s", dir, cause(err))
	}
	return &messages.Error{Code: messages.CwdNotFound, Reason: errnoName(err), Message: text, Hint: "create it, or name one that exists"}
}

// cause returns the system's error text without the names of calls and files.
func cause(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// errnoName returns a name such as "ENOENT", or "" without an errno.
func errnoName(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	return ""
}
