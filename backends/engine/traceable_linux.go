package engine

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// maxInterpreters is how many interpreters of scripts the kernel follows: that of a script may
// be a script.
const maxInterpreters = 5

// maxFirstLine is how much of a script the kernel reads for its interpreter.
const maxFirstLine = 256

// traceable reports whether the process can stop in its exec. The stop must be for this
// process alone, not for a wait of a library's host. A program with more rights than its user
// would lose them (ptrace(2)), also one that a script names as its interpreter.
func (l *launch) traceable() bool {
	if l.h.reaper == nil {
		return false
	}
	path := l.path
	for range maxInterpreters + 1 {
		var ordinary bool
		if path, ordinary = l.ordinary(path); path == "" || !ordinary {
			return ordinary
		}
	}
	return true // the kernel refuses it
}

// ordinary reports whether a program gives its user no other rights, and returns its
// interpreter; "": it is no script. One that cannot be read may be a script with any.
func (l *launch) ordinary(path string) (interpreter string, ordinary bool) {
	sys := l.h.sys
	var st unix.Stat_t
	if sys.StatAt(l.dir, path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return "", false
	}
	fd, err := sys.OpenAt(l.dir, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return "", false
	}
	defer sys.Close(fd)
	head := make([]byte, maxFirstLine)
	n, err := sys.Pread(fd, head)
	return interpreterOf(head[:max(n, 0)]), err == nil && !sys.HasCapabilities(fd)
}

// interpreterOf returns the interpreter that a file which begins with head names; "": none.
func interpreterOf(head []byte) string {
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if !script {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	line = bytes.TrimLeft(line, " \t")
	if end := bytes.IndexAny(line, " \t\x00"); end >= 0 {
		line = line[:end]
	}
	return string(line)
}
