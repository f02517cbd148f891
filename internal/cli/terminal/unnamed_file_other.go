//go:build !linux

package terminal

import "os"

// unnamedFile is a file that ends with who has it open.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "troupe-guard")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
