package engine

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// scriptFile is the prefix of script names.
const scriptFile = "troupe-script-"

// write writes the script of a job into a file that only this user can read, and
// appends its name to the arguments. A worker does it, since scripts may have
// megabytes. A retried fork finds it done.
func (j *job) write(spec *backends.Spec) *startError {
	if spec.Script == "" {
		return nil
	}
	dir, hint, err := j.scriptDir()
	if err != nil {
		return unwritten(err, hint)
	}
	f, err := os.CreateTemp(dir, scriptFile) // 0600
	if err != nil {
		return unwritten(err, hint)
	}
	j.mu.Lock()
	j.postFork.scratch = f.Name()
	j.mu.Unlock()
	_, err = f.WriteString(spec.Script)
	if err = errors.Join(err, f.Close()); err != nil {
		return unwritten(err, hint)
	}
	spec.Argv, spec.Script = append(slices.Clip(spec.Argv), f.Name()), ""
	return nil
}

// scriptDir returns the directory of jobs' files, and a hint for the case that it
// cannot be written.
func (j *job) scriptDir() (dir, hint string, err error) {
	dir, hint = os.TempDir(), ", or name another with TMPDIR"
	if of := j.engine.opt.ScriptDir; of != nil {
		if dir, err = of(); err != nil {
			hint = "make sure that the directory of this node can be made and entered"
			if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
				hint = "free space on the disk of this node's directory"
			}
			return "", hint, err
		}
		hint = ""
	}
	return dir, "make sure that " + dir + " can be written and has room" + hint, nil
}

// unwritten reports a script that could not be written.
func unwritten(err error, hint string) *startError {
	f := refused(messages.SpawnFailed, name(errno(err)), "the command's text could not be written to a file: "+err.Error())
	f.err.Hint = hint
	return f
}
