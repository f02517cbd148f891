package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
)

// capNetRaw is the attribute of a program with CAP_NET_RAW (vfs_cap_data, revision 2).
var capNetRaw = []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// A program with more rights than its user is not traced, also as the interpreter of a script:
// it would run without them.
func TestProgramWithRightsIsNotTraced(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "", 0o755)
	write("setuid", "", 0o755|os.ModeSetuid)
	write("setgid", "", 0o755|os.ModeSetgid)
	write("capable", "", 0o755)
	capable := unix.Setxattr(dir+"/capable", "security.capability", capNetRaw, 0) == nil // not without root
	write("of-plain", "#! ./plain -x\nexit", 0o755)
	write("of-setuid", "#!\t"+dir+"/setuid", 0o755)
	write("of-script", "#!./of-setuid\n", 0o755)
	write("of-capable", "#!capable\n", 0o755)
	write("of-none", "#!\n", 0o755)
	write("of-missing", "#!./missing\n", 0o755)
	write("s0", "#!./plain\n", 0o755)
	write("u0", "#!./setuid\n", 0o755)
	for i := range maxInterpreters {
		write(fmt.Sprint("s", i+1), fmt.Sprintf("#!s%d\n", i), 0o755)
		write(fmt.Sprint("u", i+1), fmt.Sprintf("#!u%d\n", i), 0o755)
	}
	h := newRig(t).e.host
	for name, want := range map[string]bool{
		"plain": true, "setuid": false, "setgid": false, "capable": !capable, "of-capable": !capable,
		"of-plain": true, "of-setuid": false, "of-script": false, "of-none": true, "of-missing": false,
		"s4": true, "u4": false, "u5": true, // which the kernel does not execute
	} {
		fd, err := h.sys.OpenAt(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			t.Fatal(err)
		}
		l := &launch{h: h, dir: fd, path: name, spec: &backends.Spec{}}
		if got := l.traceable(); got != (want && modeNow().own) {
			t.Errorf("%s: traced %v, want %v", name, got, want)
		}
		_ = h.sys.Close(fd)
	}
}

// A chain of scripts is followed as far as the kernel does.
func TestInterpretersThatTheKernelFollows(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	last := "/bin/echo"
	for i := range maxInterpreters + 1 {
		next := fmt.Sprint(dir, "/s", i)
		if err := os.WriteFile(next, fmt.Appendf(nil, "#!%s\n", last), 0o755); err != nil {
			t.Fatal(err)
		}
		last = next
	}
	for i, want := range map[int]int{maxInterpreters - 1: 0, maxInterpreters: 126} {
		e := r.start(r.spec(fmt.Sprint(dir, "/s", i)))
		if x := e.over(); x.Status.Code != want {
			t.Errorf("%d scripts: %+v", i+1, x)
		}
	}
}
