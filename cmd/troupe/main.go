// Command troupe runs shell jobs under supervision. This package is flags, exit
// statuses, JSON and signals; what a job is and how it ends is decided below it.
//
// Main is a struct, so that the program can be run with any surroundings. The
// verbs are one file each (run.go, doctor.go, version.go); what all of them share
// is how they fail (errors.go) and how they speak on a terminal (screen.go).
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// version is set by the linker (see the Makefile); "" is a plain go build.
var version string

// Main is the program and everything it takes from its surroundings.
type Main struct {
	In, Out, Err *os.File
	Env          []string // as os.Environ
	Version      string

	mask    string // the caller's umask, where it is not ours; see keepOwnBits
	misread bool   // the flags could not be read
	client  bool   // the verb asks a daemon
	helped  error  // what became of the help that was asked for
}

func main() {
	m := &Main{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Version: version}
	m.keepOwnBits()
	os.Exit(m.Run(os.Args[1:]))
}

// keepOwnBits has what this process makes be its user's, whatever umask it was given:
// without the bits of their owner directories and files could not be used by who made
// them. Commands have the umask as it was.
func (m *Main) keepOwnBits() {
	const own = 0o700
	was := unix.Umask(0o077)
	if was&own != 0 {
		m.mask = fmt.Sprintf("%04o", was)
	}
	unix.Umask(was &^ own)
}

// Run does what the arguments say and returns the exit status.
func (m *Main) Run(args []string) int {
	root := m.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = m.helped
	}
	return m.finish(err, m.asJSON(cmd, args))
}

// getenv is the caller's value of a variable.
func (m *Main) getenv(name string) (string, bool) {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if v := m.Env[i]; len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			return v[len(name)+1:], true
		}
	}
	return "", false
}
