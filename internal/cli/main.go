package cli

import (
	"bytes"
	"os"
)

// Main is the program and everything it takes from its surroundings.
type Main struct {
	In, Out, Err *os.File
	Env          []string // as os.Environ
	Version      string

	Mask    string // the caller's umask, where it is not ours; see keepOwnBits
	Misread bool   // the flags could not be read
	Client  bool   // the verb asks a daemon
	Helped  error  // what became of the help that was asked for
}

// Getenv is the caller's value of a variable.
func (m *Main) Getenv(name string) (string, bool) {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if v := m.Env[i]; len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			return v[len(name)+1:], true
		}
	}
	return "", false
}

// Umask is the mask that this process was given, in octal; "" where it cannot be seen
// without changing it.
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
