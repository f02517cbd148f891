package engine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// startError says why a job has no process.
type startError struct {
	err   messages.Error
	shell int
	again bool // a retry may succeed soon
}

// A shell's exit statuses for a program that it could not execute.
const (
	shellNotFound      = 127
	shellNotExecutable = 126
)

// refused reports a job whose start was not attempted.
func refused(code messages.Code, reason, message string) *startError {
	return &startError{err: messages.Error{Code: code, Reason: reason, Message: message}, shell: shellNotExecutable}
}

// stoppedEarly reports a job stopped before its fork: nothing of it ran.
func stoppedEarly() *startError {
	return refused(messages.Refused, "stopped", "the job was stopped before its process was started")
}

// errno returns the system error number in err; 0: none.
func errno(err error) syscall.Errno {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return 0
}

// name returns the name of an errno, such as ENOENT; "": none.
func name(n syscall.Errno) string {
	if n == 0 {
		return ""
	}
	if s := unix.ErrnoName(n); s != "" {
		return s
	}
	return fmt.Sprintf("errno_%d", int(n))
}

// resourceMissing reports that a resource, what, was missing before the program was
// executed.
func resourceMissing(what string, err error) *startError {
	n := errno(err)
	f := &startError{
		err: messages.Error{
			Code: messages.SpawnFailed, Reason: name(n),
			Message: fmt.Sprintf("the job cannot start: no %s: %v", what, err),
		},
		shell: shellNotExecutable,
	}
	if n == 0 {
		f.err.Reason = "log"
	}
	exhaust(f, n)
	return f
}

// exhaust marks a failure for want of a machine's resource.
func exhaust(f *startError, n syscall.Errno) {
	switch n {
	case unix.EMFILE, unix.ENFILE, unix.EBADF: // EBADF: a child moves its descriptors above its limit
		f.err.Code = messages.ResourceExhausted
		f.err.Hint = "end some jobs, or raise the limit of open files (ulimit -n)"
	case unix.ENOMEM, unix.ENOSPC, unix.ENOBUFS:
		f.err.Code = messages.ResourceExhausted
		f.err.Hint = "free memory or space, then try again"
	case unix.EAGAIN:
		f.again = true
		f.err.Hint = "the limit of processes is reached (ulimit -u, or pids.max of the cgroup): end some, then try again"
	}
}

// unexecuted reports a program that could not be executed.
func unexecuted(program string, err error) *startError {
	n := errno(err)
	f := &startError{
		err: messages.Error{
			Code: messages.SpawnFailed, Reason: name(n),
			Message: fmt.Sprintf("%s cannot be executed: %v", program, err),
		},
		shell: shellNotExecutable,
	}
	switch n {
	case unix.ENOENT:
		f.shell = shellNotFound
		f.err.Message = program + ": the program, or the interpreter it names, was not found"
		f.err.Hint = "check the name, and PATH in the job's environment"
	case unix.EACCES:
		f.err.Hint = "it must be a file with permission to execute it, in directories that may be entered"
	case unix.ENOEXEC:
		f.err.Hint = "it is not a program for this machine; start a script with #! and its interpreter"
	case unix.E2BIG:
		f.err.Hint = "its arguments and environment are too large: pass them in a file"
	default:
		exhaust(f, n)
	}
	return f
}

// noDirectory reports a working directory that cannot be entered.
func noDirectory(dir string, err error) *startError {
	n := errno(err)
	f := refused(messages.CwdNotFound, name(n), fmt.Sprintf("the working directory %s cannot be entered: %v", dir, err))
	switch n {
	case unix.ENOTDIR:
		f.err.Code = messages.CwdNotDir
		f.err.Message = fmt.Sprintf("the working directory %s is not a directory", dir)
	case unix.ENOENT:
		f.err.Message = fmt.Sprintf("the working directory %s does not exist", dir)
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return resourceMissing("descriptor for the working directory", err)
	}
	return f
}
