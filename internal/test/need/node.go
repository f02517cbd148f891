package need

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Node returns the path of Node and the directory of its packages, as make deps
// installs them from tools/node, or skips the test. It does not use the machine's Node.
func Node(t testing.TB) (program, modules string) {
	t.Helper()
	at := nodeFolder(t)
	modules = filepath.Join(at, "node_modules")
	program = filepath.Join(modules, "node-"+runtime.GOOS+"-"+nodeCPU(runtime.GOARCH), "bin", "node")
	if !nodeInstalled(at, program) {
		lacks(t, "the packages of tools/node")
	}
	return program, modules
}

// Unpacked returns a file of a package for Node of which make deps installs single files, as
// tools/node/unpacked.txt says, or skips the test.
func Unpacked(t testing.TB, file string) string {
	t.Helper()
	at := nodeFolder(t)
	want, err := os.ReadFile(filepath.Join(at, "unpacked.txt"))
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(at, "node_modules", file)
	have, err := os.ReadFile(filepath.Join(at, "node_modules", ".unpacked"))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil || !bytes.Equal(want, have) {
		lacks(t, "the packages of tools/node/unpacked.txt")
	}
	return file
}

// nodeInstalled reports whether the installation matches the lock file.
func nodeInstalled(at, program string) bool {
	want, err := os.ReadFile(filepath.Join(at, "package-lock.json"))
	if err != nil {
		return false
	}
	have, err := os.ReadFile(filepath.Join(at, "node_modules", ".installed"))
	if err != nil || !bytes.Equal(want, have) {
		return false
	}
	_, err = os.Stat(program)
	return err == nil
}

// nodeFolder finds tools/node above the test's folder.
func nodeFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		at := filepath.Join(dir, "tools", "node")
		if _, err := os.Stat(filepath.Join(at, "package.json")); err == nil {
			return at
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("tools/node is in no directory above this one")
		}
		dir = up
	}
}

// nodeCPU returns Node's name of a processor.
func nodeCPU(arch string) string {
	if arch == "amd64" {
		return "x64"
	}
	return arch
}
