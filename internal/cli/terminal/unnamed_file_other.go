//go:build !linux

package terminal

import "os"

// unnamedFile creates a file that exists while a process has it open.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "troupe-guard")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
