package cli

import (
	"bytes"
	"os"
)

// Main holds what the program takes from its surroundings.
type Main struct {
	In, Out, Err *os.File
	Env          []string // in the form of os.Environ
	Linked       Linked

	Mask    string // the caller's umask in octal, if ours differs; see keepOwnBits
	Misread bool   // whether the flags could not be parsed
	Client  bool   // whether the verb sends requests to a daemon
	Level   string // begins the line of an error: its priority, if Err is the journal of systemd
	Helped  error  // error of printing the requested help; nil: none
}

// Getenv returns the caller's value of a variable, and whether it is set.
func (m *Main) Getenv(name string) (string, bool) {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if v := m.Env[i]; len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			return v[len(name)+1:], true
		}
	}
	return "", false
}

// Umask returns the caller's umask in octal; "" if the kernel does not show it without
// a change.
func (m *Main) Umask() string {
	if m.Mask != "" {
		return m.Mask
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if value, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
